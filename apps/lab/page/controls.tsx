// SPDX-License-Identifier: Apache-2.0
// The controls of the page: the settings of a new session, operations, faults and steps.
import * as React from 'react';
import { End } from '../../explain/page/model';
import { STEPS, Step } from './module';
import { LETTERS, NAMES, State } from './state';

interface Setting { name: string; label: string; values: [string, string][] }
const ENDS: [string, string][] = [['none', 'neither end'], ['a', 'initiator'], ['b', 'responder'], ['both', 'both']];
const SETTINGS: Setting[] = [
  { name: 'revision', label: 'MPA revision', values: [['1', '1 (RFC 5044)'], ['2', '2 (RFC 6581)']] },
  { name: 'crc', label: 'CRC requested by', values: ENDS },
  { name: 'markers', label: 'Markers requested by', values: ENDS },
  { name: 'rtr', label: 'Ready to receive', values: [['none', 'none (client-server mode)'], ['write', 'RDMA Write'], ['read', 'RDMA Read'], ['send', 'Send']] },
  { name: 'ulpdu', label: 'ULPDU at most', values: [['0', 'one TCP segment'], ['128', '128 octets'], ['256', '256 octets'], ['512', '512 octets']] },
  { name: 'receives', label: 'Receives posted', values: [['0', '0'], ['1', '1'], ['4', '4'], ['8', '8']] },
];

/** Returns the settings that a script contains, by name. */
export function settingsIn(script: string): Record<string, string> {
  const pairs = script.split('+').filter((word) => word.includes('='));
  return Object.fromEntries(pairs.map((word) => word.split('=')));
}

export function NewSession({ script, open }: { script: string; open: (script: string) => void }): JSX.Element {
  const now = settingsIn(script);
  const [chosen, choose] = React.useState(now);
  const current = JSON.stringify(now);
  React.useEffect(() => choose(JSON.parse(current)), [current]);
  const submit = (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    event.currentTarget.closest('details')?.removeAttribute('open');
    open(Object.entries(chosen).map(([name, value]) => `${name}=${value}`).join('+'));
  };
  return (
    <details className="box settings">
      <summary>New session</summary>
      <form onSubmit={submit}>
        {SETTINGS.map(({ name, label, values }) => (
          <label key={name}>{label} <select name={name} value={chosen[name]}
            onChange={(event) => choose({ ...chosen, [name]: event.target.value })}>
            {values.map(([value, says]) => <option key={value} value={value}>{says}</option>)}
          </select></label>))}
        <label>Seed of the STags <input name="seed" inputMode="numeric" value={chosen.seed ?? ''}
          onChange={(event) => choose({ ...chosen, seed: event.target.value.replace(/\D/g, '').slice(0, 9) || '0' })} /></label>
        <button type="submit" className="main">Begin a session with these settings</button>
      </form>
    </details>
  );
}

const TARGETS: [string, string][] = [['', 'its window'], ['stag', 'a wrong STag'], ['bounds', 'beyond the end of its window'], ['rights', 'memory without remote access']];

/** Converts the text of an input field to a number for the word of an action. If the number is too large for the
 * memory, the session refuses the action and gives the reason. */
const whole = (text: string): number => Math.min(Math.max(Math.trunc(Number(text) || 0), 0), 0xffffffff);

/** The requests that the program of one end can post. */
export function Operations({ end, open, connected, act }: {
  end: End; open: boolean; connected: boolean; act: (word: string) => void;
}): JSX.Element {
  const [length, setLength] = React.useState('64');
  const [offset, setOffset] = React.useState('0');
  const [target, setTarget] = React.useState('');
  const letter = LETTERS[end];
  const size = whole(length);
  const to = target ? `.${target}` : '';
  const post = (word: string, label: string) => (
    <button type="button" data-act={word.split('.')[0]} onClick={() => act(word)}>{label}</button>);
  return (
    <details className="box operations" open={open}>
      <summary>Post a request</summary>
      <div className="arguments">
        <label>Octets <input name="length" inputMode="numeric" value={length} onChange={(e) => setLength(e.target.value)} /></label>
        <label>at octet <input name="offset" inputMode="numeric" value={offset} onChange={(e) => setOffset(e.target.value)} /></label>
        <label>of the peer: <select name="target" value={target} onChange={(e) => setTarget(e.target.value)}>
          {TARGETS.map(([value, says]) => <option key={value} value={value}>{says}</option>)}</select></label>
      </div>
      <div className="buttons">
        {post(`tell.${letter}`, 'Advertise the STag')}
        {post(`write.${letter}.${size}.${whole(offset)}${to}`, 'RDMA Write')}
        {post(`read.${letter}.${size}.${whole(offset)}${to}`, 'RDMA Read')}
        {post(`send.${letter}.${size}`, 'Send')}
        {post(`invalidate.${letter}.${size}`, 'Send with Invalidate')}
        {post(`add.${letter}.${whole(offset)}${to}`, 'FetchAdd')}
        {post(`receive.${letter}`, 'Post a Receive')}
        {end === 'near' && !connected && <button type="button" className="main" data-act="connect" onClick={() => act('connect')}>Connect</button>}
        {post(`close.${letter}`, 'Close')}
      </div>
    </details>
  );
}

/** The octet that the user has clicked in the open frame. A fault can hit it only while it is still in flight. */
export interface Victim { from: End; offset: number; at: number }

export function Faults({ victim, cut, act }: {
  victim: Victim | null; cut: boolean; act: (word: string) => void;
}): JSX.Element {
  const [bit, setBit] = React.useState('0');
  return (
    <section className="faults" aria-label="Faults of the link">
      <button type="button" data-act="flip" disabled={!victim}
        onClick={() => victim && act(`flip.${LETTERS[victim.from]}.${victim.offset}.${bit}`)}>
        {victim ? `Flip bit ${bit} of octet ${victim.at}` : 'Flip a bit: click an octet in flight'}</button>
      <label>bit <select name="bit" value={bit} onChange={(e) => setBit(e.target.value)}>
        {[0, 1, 2, 3, 4, 5, 6, 7].map((n) => <option key={n}>{n}</option>)}</select></label>
      <button type="button" data-act="cut" disabled={cut} onClick={() => act('cut')}>Cut the link</button>
      <button type="button" data-act="wait" onClick={() => act('wait')}>Wait until a timer expires</button>
    </section>
  );
}

const KEYS: Record<Step, string> = { octet: 'o', segment: 's', operation: 'd' };

export function Steps({ state, steps, canBack, canForward }: {
  state: State; steps: { back: (step: Step) => void; forward: (step: Step) => void };
  canBack: boolean; canForward: boolean;
}): JSX.Element {
  const due = state.flight.find((segment) => segment.from === state.due?.from);
  const posted = state.near.requests + state.far.requests;
  const idle = state.near.startup === 'Idle' && posted > 0
    ? `Nothing is in flight. Requests that wait for the connection: ${posted}.` : 'Nothing is in flight.';
  return (
    <div className="steps" role="toolbar" aria-label="Steps">
      <span className="group" aria-label="Back">{[...STEPS].reverse().map((step) => (
        <button key={step} type="button" data-back={step} disabled={!canBack} onClick={() => steps.back(step)}>◀ {step}</button>))}</span>
      <span className="group" aria-label="Forward">{STEPS.map((step) => (
        <button key={step} type="button" className={step === 'segment' ? 'main' : ''} data-forward={step} disabled={!canForward}
          title={`key ${KEYS[step]}; Shift with this key steps back`} onClick={() => steps.forward(step)}>{step} ▶</button>))}</span>
      <output className="clock">{(state.now / 1e6).toFixed(6)} ms</output>
      <output className="due" aria-live="polite">{state.cut ? 'The link is cut.' : due
        ? `Next to arrive: ${due.kind === 'octets' ? `${due.size - due.arrived} of ${due.size} octets` : due.kind.toUpperCase()} from ${NAMES[due.from]}`
        : idle}</output>
    </div>
  );
}
