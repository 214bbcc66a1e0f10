// SPDX-License-Identifier: Apache-2.0
// The page: runs both ends of the stack step by step and shows their complete state. The page's URL contains the
// session, so a link replays the session.
import * as React from 'react';
import { createRoot } from 'react-dom/client';
import { Connection, End, Frame, Layer, Row, Session } from '../../explain/page/model';
import { Octets } from '../../explain/page/octets';
import { Sequence } from '../../explain/page/sequence';
import { EndStates } from '../../explain/page/states';
import { useTheme } from '../../explain/page/theme';
import { Faults, NewSession, Operations, Steps, Victim } from './controls';
import { EndColumn } from './ends';
import { Lab, STEPS, Step } from './module';
import { linkOf, savePage, savePcap, scriptInLink } from './save';
import { LETTERS, NAMES, State } from './state';
import { Beat, Column, TOUR, columnOf } from './tour';
import { Place, Speech, TourBar } from './tour_panel';

const MOST_STEPS = 10000;

/** Everything that the page draws. */
interface Shown {
  state: State; before: State | null; session: Session; connection: Connection | null;
  script: string; done: number; ahead: number; trouble: string | null;
}

function look(lab: Lab, before: State | null, trouble: string | null): Shown {
  const state = lab.state();
  const session = lab.session();
  const connection = session.connections[0] ?? null;
  if (connection) {
    connection.names = NAMES;
    connection.rows = connection.rows.filter((row) => row.type !== 'closed' || row.how !== 'end-of-capture');
  }
  return { state, before, session, connection: connection && connection.rows.length > 0 ? connection : null,
    script: lab.script(), done: lab.done().length, ahead: lab.ahead().length, trouble };
}

/** Returns the number of octets of the frame that have arrived. */
const arrivedOf = (state: State, frame: Frame): number =>
  Math.min(Math.max(state.arrived[frame.from] - frame.offset, 0), frame.size);

/** Returns the row of the frame that is arriving. If no frame is arriving, returns the last row. */
function follow({ state, connection }: Shown): number {
  const rows = connection?.rows ?? [];
  const due = state.flight.find((segment) => segment.from === state.due?.from);
  const at = due ? rows.findIndex((row) => row.type === 'frame' && row.from === due.from
    && due.offset + due.arrived >= row.offset && due.offset < row.offset + row.size) : -1;
  return at >= 0 ? at : rows.length - 1;
}

function perform(lab: Lab, order: string): string | null {
  const due = () => lab.state().due;
  if (order === 'run') {
    for (let i = 0; i < MOST_STEPS && lab.forward('operation'); i += 1);
    return null;
  }
  if (order === 'segment') { lab.forward('segment'); return null; }
  if (order === 'all but one octet') {
    const octets = due()?.octets ?? 0;
    for (let i = 1; i < octets; i += 1) lab.forward('octet');
    return null;
  }
  const damage = /^damage (\d+)$/.exec(order);
  if (damage) {
    const segment = lab.state().flight[0];
    return lab.act(`flip.${segment.from === 'near' ? 'a' : 'b'}.${segment.offset + Number(damage[1])}.7`);
  }
  return lab.act(order);
}

/** Opens the session of a stop of the tour. Performs the actions of the stop's beats, which are its steps, up to and
 * including `beat`. Returns the state before `beat`. */
function play(lab: Lab, { stop, beat }: Place): State {
  const { settings, first, beats } = TOUR[stop];
  lab.open(settings);
  let before = lab.state();
  for (const order of first) perform(lab, order);
  beats.slice(0, beat + 1).forEach((one: Beat) => {
    before = lab.state();
    for (const order of one.do ?? []) perform(lab, order);
  });
  return before;
}

/** Returns the octets of the frame that the user has damaged: maps the index of an octet to the bits that were
 * flipped. */
function damageIn(script: string, frame: Frame): ReadonlyMap<number, number> {
  const flipped = new Map<number, number>();
  for (const [, letter, offset, bit] of script.matchAll(/(?:^|\+)flip\.([ab])\.(\d+)\.([0-7])(?=\+|$)/g)) {
    const at = Number(offset) - frame.offset;
    if (letter !== LETTERS[frame.from] || at < 0 || at >= frame.size) continue;
    const bits = (flipped.get(at) ?? 0) ^ (0x80 >> Number(bit));
    if (bits !== 0) flipped.set(at, bits);
    else flipped.delete(at);
  }
  return flipped;
}

/** Returns the remark about a row, which says how much of its frame has arrived. */
function noteOf(state: State, row: Row): string {
  if (row.type !== 'frame') return '';
  const arrived = arrivedOf(state, row);
  if (arrived === row.size) return '';
  if (state.cut) return arrived === 0 ? 'lost' : `lost after octet ${arrived}`;
  return arrived === 0 ? 'in flight' : `in flight, ${arrived} of ${row.size} arrived`;
}

function Wire({ shown, at, setAt, onOctet, field, onKey, speech, faults }: {
  shown: Shown; at: number; setAt: (at: number) => void; onOctet: (at: number) => void; field: string | undefined;
  onKey: (event: React.KeyboardEvent) => void; speech: React.ReactNode; faults: React.ReactNode;
}): JSX.Element {
  const [folded, setFolded] = React.useState<ReadonlySet<Layer>>(new Set());
  const fold = (layer: Layer) => setFolded((before) => {
    const after = new Set(before);
    if (!after.delete(layer)) after.add(layer);
    return after;
  });
  const { session, connection, state } = shown;
  const rows = React.useMemo(() => connection?.rows.map((_, i) => i) ?? [], [connection]);
  if (!connection) return <div className="wire">{speech}<p className="where empty">Nothing has been sent. Connect, or begin the tour.</p></div>;
  const row = connection.rows[Math.min(at, rows.length - 1)];
  const note = noteOf(state, row);
  return (
    <div className="wire">
      <Sequence {...{ connection, rows, onKey }} selected={Math.min(at, rows.length - 1)} onSelect={setAt}
        noteOf={(one) => noteOf(state, one)} />
      {faults}
      {speech}
      <div className="open">
        {row.type === 'frame' ? (
          <section className="message" aria-label={`Frame ${row.frame}`}>
            <h2>{row.frame} · {row.text}</h2>
            <p className="where">{NAMES[row.from]} → {NAMES[row.from === 'near' ? 'far' : 'near']}, {row.size} octets{note && <b className="flight">, {note}</b>}</p>
            {row.violations && <ul className="violations">{row.violations.map((v, i) => (
              <li key={i}><b>{v.rule}</b> {v.says}{v.detail && `: ${v.detail}`}</li>))}</ul>}
            <Octets {...{ session, frame: row, folded, onOctet, lead: field }} damage={damageIn(shown.script, row)} onFold={fold} arrived={arrivedOf(state, row)} />
          </section>
        ) : <section className="message"><h2>{row.type === 'closed' ? `Closed: ${row.how}` : row.type === 'local' ? row.text : row.says}</h2></section>}
        <EndStates connection={connection} at={Math.min(at, rows.length - 1)} />
      </div>
    </div>
  );
}

const KEYS: Record<string, Step> = { o: 'octet', s: 'segment', d: 'operation' };

const FIRST: Place = { stop: 0, beat: 0 };

function App({ lab, trouble, first }: { lab: Lab; trouble: string | null; first: Place | null }): JSX.Element {
  const [shown, show] = React.useState(() => look(lab, null, trouble));
  const [at, setAt] = React.useState(() => follow(shown));
  const [place, setPlace] = React.useState(first);
  const [octet, setOctet] = React.useState(-1);
  const [saved, setSaved] = React.useState('');
  const [theme, nextTheme] = useTheme();

  const update = (before: State | null, why: string | null) => {
    const next = look(lab, before, why);
    show(next);
    setAt(follow(next));
    setOctet(-1);
    setSaved('');
    window.history.replaceState(null, '', `#${next.script}`);
  };
  const act = (word: string) => { const before = shown.state; update(before, lab.act(word)); };
  const steps = {
    forward: (step: Step) => { const before = shown.state; lab.forward(step); update(before, null); },
    back: (step: Step) => { const before = shown.state; lab.back(step); update(before, null); },
  };
  const go = (to: Place | null) => {
    setPlace(to);
    if (to) update(play(lab, to), null);
  };
  const open = (script: string) => { setPlace(null); update(null, lab.open(script)); };

  React.useEffect(() => {
    const follows = () => { if (scriptInLink() !== lab.script()) open(scriptInLink()); };
    window.addEventListener('hashchange', follows);
    return () => window.removeEventListener('hashchange', follows);
  });
  React.useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.altKey || event.metaKey || (event.target as HTMLElement).closest('input, select')) return;
      const step = KEYS[event.key.toLowerCase()];
      if (!step || !STEPS.includes(step)) return;
      event.preventDefault();
      if (event.shiftKey) steps.back(step);
      else steps.forward(step);
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  });
  const onKey = (event: React.KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, Home: -at, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    setAt(Math.min(Math.max(at + moves[event.key], 0), (shown.connection?.rows.length ?? 1) - 1));
  };

  const { state, connection } = shown;
  const row = connection?.rows[at];
  const inFlight = row?.type === 'frame' && octet >= arrivedOf(state, row) && octet < row.size && !state.cut;
  const beat = place && TOUR[place.stop].beats[place.beat];
  const speechIn = (where: Column) => place && beat && columnOf(beat) === where && <Speech place={place} go={go} />;
  const column = (end: End) => (
    <EndColumn end={end} state={state[end]} before={shown.before?.[end]} speech={speechIn(end)}>
      <Operations end={end} open={!place} connected={state.near.startup !== 'Idle'} act={act} />
    </EndColumn>);
  const victim: Victim | null = inFlight ? { from: row.from, offset: row.offset + octet, at: octet } : null;
  return (
    <>
      <header>
        <h1>iWARP lab</h1>
        <p>The stack itself runs in this page, at both ends of a simulated link.</p>
        <div className="save">
          <NewSession script={shown.script} open={open} />
          <button type="button" data-save="pcap" onClick={() => savePcap(lab.capture())}>Save as pcap</button>
          <button type="button" data-save="page" disabled={!connection} onClick={() => savePage(lab.explained())}>Save as HTML</button>
          <button type="button" data-save="link" onClick={() => {
            const link = linkOf(shown.script);
            const copied = () => setSaved(link);
            (navigator.clipboard?.writeText(link) ?? Promise.reject()).then(copied, copied);
          }}>Copy the link</button>
          {saved && <output><a href={saved}>link that replays this session</a></output>}
          <button type="button" onClick={nextTheme}>Colours: {theme}</button>
        </div>
      </header>
      <Steps state={state} steps={steps} canBack={shown.done > 0} canForward={shown.ahead > 0 || state.due !== undefined} />
      {shown.trouble && <p className="trouble rule" role="alert">{shown.trouble}</p>}
      <TourBar place={place} go={go} />
      <main className={`lab${place ? ' taken' : ''}`}>
        {column('near')}
        <Wire {...{ shown, at, setAt, onKey }} onOctet={setOctet} field={beat?.field} speech={speechIn('wire')}
          faults={<Faults victim={victim} cut={state.cut} act={act} />} />
        {column('far')}
      </main>
    </>
  );
}

const root = document.getElementById('page');
if (root) {
  Lab.load().then((lab) => {
    // Without a session in its URL, the page opens on the first stop of the tour.
    const first = scriptInLink() === '' ? FIRST : null;
    const trouble = lab.open(scriptInLink());
    if (first) play(lab, first);
    createRoot(root).render(<App {...{ lab, trouble, first }} />);
    document.body.dataset.ready = 'true';
  }, (error) => {
    root.textContent = `This browser cannot run the lab: ${error}`;
  });
}
