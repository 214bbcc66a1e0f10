// SPDX-License-Identifier: Apache-2.0
// Shows both ends: their states, Terminates, registered memory, and the logs of their applications.
import * as React from 'react';
import { End, seconds } from '../../explain/page/model';
import { useWidth } from '../../explain/page/virtual_list';
import { EndState, Event, Memory, NAMES, State } from './state';

const WIDE = 500; // minimum width in px for both ends side by side, with 32 octets per line
const ENDS: End[] = ['near', 'far'];

const octet = (memory: Memory, at: number): string => memory.octets.substr(2 * at, 2);
const readable = (hex: string): string => {
  const value = parseInt(hex, 16);
  if (value === 0) return '·';
  return value >= 0x20 && value <= 0x7e ? String.fromCharCode(value) : '▪';
};

interface Run { begin: number; text: string; hex: string; changed: boolean }

/** Splits a line of memory into runs of octets that the last step has changed and runs of octets that it has not
 * changed. */
function runs(memory: Memory, before: Memory | undefined, begin: number, size: number): Run[] {
  const out: Run[] = [];
  for (let at = begin; at < begin + size; at += 1) {
    const hex = octet(memory, at);
    const changed = before !== undefined && octet(before, at) !== hex;
    let last = out[out.length - 1];
    if (!last || last.changed !== changed) {
      last = { begin: at, text: '', hex: '', changed };
      out.push(last);
    }
    last.text += readable(hex);
    last.hex += `${hex} `;
  }
  return out;
}

const Region = React.memo(function Region({ memory, before, perLine }: {
  memory: Memory; before: Memory | undefined; perLine: number;
}) {
  const size = memory.octets.length / 2;
  const changed = before !== undefined && before.octets !== memory.octets;
  const [open, setOpen] = React.useState(memory.name === 'window');
  const lines = [];
  let zeros = 0; // number of octets in the lines that are left out, because all of them are 0
  const gap = (end: number) => {
    if (zeros > 0) lines.push(<div key={`gap${end}`} className="gap">⋮ {zeros} octets, all 0</div>);
    zeros = 0;
  };
  for (let at = 0; open && at < size; at += perLine) {
    const octets = runs(memory, before, at, Math.min(perLine, size - at));
    const same = memory.octets.substr(2 * at, 2 * perLine) === memory.octets.substr(2 * (at - perLine), 2 * perLine);
    if (at > 0 && same && octets.every((run) => !run.changed) && /^0*$/.test(memory.octets.substr(2 * at, 2 * perLine))) {
      zeros += Math.min(perLine, size - at);
      continue;
    }
    gap(at);
    lines.push(
      <div key={at}><span className="address">+{at.toString().padStart(3, '0')}</span>{octets.map((run) => (
        run.changed ? <mark key={run.begin} title={run.hex}>{run.text}</mark>
          : <span key={run.begin} title={run.hex}>{run.text}</span>))}</div>);
  }
  gap(size);
  return (
    <details className={`region${changed ? ' changed' : ''}`} data-memory={memory.name} open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><b>{memory.name}</b> STag <code className={memory.valid ? '' : 'rule'}>0x{memory.stag}{memory.valid ? '' : ' invalid'}</code>{' '}
        TO <code>0x{memory.to}</code>, {size} octets{changed && <b className="now"> changed</b>}
        <small>{memory.rights}</small></summary>
      <pre>{lines}</pre>
    </details>
  );
});

function EndPanel({ end, state, before, perLine }: {
  end: End; state: EndState; before: EndState | undefined; perLine: number;
}): JSX.Element {
  const marked = (key: 'startup' | 'qp') => (before && before[key] !== state[key] ? 'changed' : '');
  return (
    <section className="end" data-end={end} aria-label={NAMES[end]}>
      <h2>{NAMES[end]}</h2>
      <dl className="facts">
        <dt>queue pair</dt><dd className={marked('qp')} data-fact="qp">{state.qp}</dd>
        <dt>MPA startup</dt><dd className={marked('startup')} data-fact="startup">{state.startup}</dd>
        <dt>Receives posted</dt><dd data-fact="receives">{state.receives}</dd>
        <dt>requests outstanding</dt><dd data-fact="requests">{state.requests}</dd>
        {state.terminate_sent && <><dt>Terminate sent</dt><dd className="rule" data-fact="terminate-sent">{state.terminate_sent}</dd></>}
        {state.terminate_received && <><dt>Terminate received</dt><dd className="rule" data-fact="terminate-received">{state.terminate_received}</dd></>}
      </dl>
      {state.memory.map((memory, i) => <Region key={memory.name} {...{ memory, perLine }} before={before?.memory[i]} />)}
    </section>
  );
}

interface Line extends Event { end: End; fresh: boolean }

function Log({ state, before }: { state: State; before: State | null }): JSX.Element {
  const box = React.useRef<HTMLOListElement>(null);
  const lines: Line[] = ENDS.flatMap((end) => state[end].log.map((event, i) => (
    { ...event, end, fresh: before !== null && i >= before[end].log.length })));
  lines.sort((a, b) => a.at - b.at);
  React.useEffect(() => { if (box.current) box.current.scrollTop = box.current.scrollHeight; }, [state]);
  return (
    <section className="log" aria-label="Log of the programs">
      <h2>What the programs posted and received</h2>
      <ol ref={box} aria-live="polite" tabIndex={0}>{lines.map((line, i) => (
        <li key={i} className={`${line.kind}${line.fresh ? ' fresh' : ''}`}>
          <span className="time">{seconds(line.at)}</span> <b>{NAMES[line.end]}</b> {line.text}</li>))}
      </ol>
    </section>
  );
}

export function Ends({ state, before }: { state: State; before: State | null }): JSX.Element {
  const box = React.useRef<HTMLDivElement>(null);
  const perLine = useWidth(box) >= WIDE ? 32 : 16; // number of octets per line
  return (
    <div className="both" ref={box}>
      <div className="pair">{ENDS.map((end) => (
        <EndPanel key={end} {...{ end, perLine }} state={state[end]} before={before?.[end]} />))}</div>
      <Log state={state} before={before} />
    </div>
  );
}
