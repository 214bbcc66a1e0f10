// SPDX-License-Identifier: Apache-2.0
// The page: the user chooses a connection and a frame of this connection, and steps through the frames by keyboard.
// React inserts text from the wire only as text, never as HTML.
import * as React from 'react';
import { createRoot } from 'react-dom/client';
import {
  Connection, Frame, Layer, Local, Row, Session, closedText, counted, isError, readSession, seconds, skippedText,
} from './model';
import { EndStates } from './states';
import { LAYERS, Octets } from './octets';
import { Memory } from './memory';
import { Sequence } from './sequence';
import { useTheme } from './theme';

const OPERATIONS = ['startup', 'write', 'read', 'send', 'atomic', 'immediate', 'terminate'];

function Violations({ frame }: { frame: Frame }): JSX.Element | null {
  if (!frame.violations) return null;
  return (
    <ul className="violations" role="alert">{frame.violations.map((v, i) => (
      <li key={i}><b>{v.rule}</b> {v.says}{v.detail && `: ${v.detail}`}</li>))}
    </ul>
  );
}

function Joined({ frame, open }: { frame: Frame; open: (frame: number) => void }): JSX.Element | null {
  const joined: [string, number | undefined][] = [
    ['answers', frame.request], ['because of', frame.cause], ['STag advertised (a guess) in', frame.stag_origin?.frame]];
  const there = joined.filter(([, to]) => to !== undefined);
  if (there.length === 0) return null;
  return <p className="joins">{there.map(([says, to]) => (
    <button key={says} type="button" onClick={() => open(to as number)}>{says} frame {to}</button>))}</p>;
}

/** Shows a local event, which is an event at one end that is not visible on the wire, with the data that the log
 * has about it. */
function LocalEvent({ connection, row }: { connection: Connection; row: Local }): JSX.Element {
  return (
    <section className="message" aria-label="Local event">
      <h2>{row.text}</h2>
      <p className="where">{connection.names[row.end]}, +{seconds(row.after)} s, record {row.packet} of its log: {row.event}</p>
      <dl className="members">{Object.entries(row.data).map(([name, value]) => (
        <React.Fragment key={name}><dt>{name}</dt><dd>{Array.isArray(value) ? value.join(', ') : String(value)}</dd></React.Fragment>))}
      </dl>
    </section>
  );
}

function Message({ session, connection, row, folded, onFold, open }: {
  session: Session; connection: Connection; row: Row; folded: ReadonlySet<Layer>;
  onFold: (layer: Layer) => void; open: (frame: number) => void;
}): JSX.Element {
  if (row.type === 'closed') {
    return <section className="message"><h2>Connection: {closedText(row)}</h2></section>;
  }
  if (row.type === 'local') return <LocalEvent connection={connection} row={row} />;
  const to = row.from === 'near' ? 'far' : 'near';
  const way = `${connection.names[row.from]} → ${connection.names[to]}, +${seconds(row.after)} s, packet ${row.packet}, octet ${row.offset} of the stream`;
  if (row.type === 'skipped') {
    return (
      <section className="message"><h2>{skippedText(row)}</h2><p className="where">{way}</p></section>
    );
  }
  return (
    <section className="message" aria-label={`Frame ${row.frame}`}>
      <h2>{row.frame} · {row.text}</h2>
      <p className="where">{way}, {counted(row.size, 'octet')}{row.missing ? `, ${row.missing} of them not captured` : ''}</p>
      <Violations frame={row} />
      <Joined frame={row} open={open} />
      <Octets {...{ session, frame: row, folded, onFold }} />
    </section>
  );
}

const KEYS = [['↓ ↑ or j k', 'next, previous frame'], ['Page, Home, End', 'in large steps'],
  ['n, p', 'next, previous error'], ['r', 'the request or the cause'], ['1 to 5', 'fold a layer'],
  ['Tab, then arrows', 'from field to field']];

function useRows(connection: Connection, op: string, errors: boolean, wireOnly: boolean): number[] {
  return React.useMemo(() => {
    const out: number[] = [];
    connection.rows.forEach((row, i) => {
      if (errors && !isError(row)) return;
      if (wireOnly && row.type === 'local') return;
      if (op && !(row.type === 'frame' && row.op === op)) return;
      out.push(i);
    });
    return out;
  }, [connection, op, errors, wireOnly]);
}

interface Stepping { to: (at: number) => void; error: (way: number) => void; join: () => void; fold: (layer: Layer) => void }

/** Handles a key. Returns false if the page does not use this key. */
function press(key: string, selected: number, count: number, steps: Stepping): boolean {
  const moves: Record<string, number> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 10, PageUp: -10,
    Home: -count, End: count };
  if (key in moves) steps.to(selected + moves[key]);
  else if (key === 'n' || key === 'p') steps.error(key === 'n' ? 1 : -1);
  else if (key === 'r') steps.join();
  else if (key >= '1' && key <= '5') steps.fold(LAYERS[Number(key) - 1].layer);
  else return false;
  return true;
}

function View({ session, connection, op, errors, wireOnly }: {
  session: Session; connection: Connection; op: string; errors: boolean; wireOnly: boolean;
}): JSX.Element {
  const rows = useRows(connection, op, errors, wireOnly);
  const [at, setAt] = React.useState(0); // index of the open row in connection.rows
  const [folded, setFolded] = React.useState<ReadonlySet<Layer>>(new Set());
  const nearest = rows.findIndex((row) => row >= at);
  const selected = nearest < 0 ? rows.length - 1 : nearest;
  const to = React.useCallback((i: number) => setAt(rows[Math.min(Math.max(i, 0), rows.length - 1)]), [rows]);
  const open = (frame: number) => {
    const row = connection.rowOf.get(frame);
    if (row !== undefined && rows.includes(row)) setAt(row);
  };
  const fold = (layer: Layer) => setFolded((before) => {
    const after = new Set(before);
    if (!after.delete(layer)) after.add(layer);
    return after;
  });
  const error = (way: number) => {
    for (let i = selected + way; i >= 0 && i < rows.length; i += way) {
      if (isError(connection.rows[rows[i]])) { to(i); return; }
    }
  };
  const row = connection.rows[rows[selected]];
  const join = () => {
    const target = row?.type === 'frame' ? row.request ?? row.cause ?? row.stag_origin?.frame : undefined;
    if (target !== undefined) open(target);
  };
  // The whole document takes the keys, so that they work before the user has clicked into the diagram. Elements that
  // use a key themselves come first.
  React.useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTaken = event.defaultPrevented || (event.target as HTMLElement).matches('select, input');
      if (isTaken || event.ctrlKey || event.altKey || event.metaKey) return;
      if (press(event.key, selected, rows.length, { to, error, join, fold })) event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  });
  if (!row) return <p className="where">No frame of this connection matches the filters.</p>;
  return (
    <main>
      <Sequence {...{ connection, rows, selected }} onSelect={to} />
      <div className="open">
        <Message {...{ session, connection, row, folded, open }} onFold={fold} />
        <div className="sides">
          <EndStates connection={connection} at={rows[selected]} />
          <Memory session={session} connection={connection} at={rows[selected]} />
        </div>
      </div>
    </main>
  );
}

function App({ session }: { session: Session }): JSX.Element {
  const [chosen, choose] = React.useState(0);
  const [op, setOp] = React.useState('');
  const [errors, setErrors] = React.useState(false);
  const [wireOnly, setWireOnly] = React.useState(false);
  const [theme, nextTheme] = useTheme();
  const hasLog = session.connections.some((c) => c.rows.some((row) => row.type === 'local'));
  const connection = session.connections[chosen];
  const { summary } = session;
  return (
    <>
      <header>
        <h1>What passed on the wire</h1>
        <p>{counted(session.connections.length, 'connection')}{summary && `, ${counted(summary.frames, 'frame')}, `}
          {summary && <b className={summary.violations > 0 ? 'rule' : ''}>{counted(summary.violations, 'violation')}</b>}
          {summary && summary.left_out > 0 && <b className="rule">; {summary.left_out} frames are left out of this page</b>}</p>
        <form onSubmit={(event) => event.preventDefault()}>
          <label>Connection <select value={chosen} onChange={(e) => choose(Number(e.target.value))}>
            {session.connections.map((c, i) => (
              <option key={c.number} value={i}>{c.number}: {c.names.near} → {c.names.far}, {counted(c.frames, 'frame')}
                {c.violations > 0 ? `, ${counted(c.violations, 'violation')}` : ''}</option>))}
          </select></label>
          <label>Operation <select value={op} onChange={(e) => setOp(e.target.value)}>
            <option value="">all</option>{OPERATIONS.map((name) => <option key={name}>{name}</option>)}</select></label>
          <label><input type="checkbox" checked={errors} onChange={(e) => setErrors(e.target.checked)} /> errors only</label>
          {hasLog && (
            <label><input type="checkbox" checked={wireOnly} onChange={(e) => setWireOnly(e.target.checked)} /> wire only</label>)}
          <button type="button" onClick={nextTheme}>Colours: {theme}</button>
          <details><summary>Keys</summary><dl>{KEYS.map(([keys, what]) => (
            <React.Fragment key={keys}><dt><kbd>{keys}</kbd></dt><dd>{what}</dd></React.Fragment>))}</dl></details>
        </form>
      </header>
      {connection ? <View key={connection.number} {...{ session, connection, op, errors, wireOnly }} />
        : <p className="where">The capture contains no MPA connection.</p>}
    </>
  );
}

const text = document.getElementById('model')?.textContent ?? '';
const root = document.getElementById('page');
if (root) {
  createRoot(root).render(<App session={readSession(text)} />);
  document.body.dataset.ready = 'true';
}
