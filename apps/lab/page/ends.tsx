// SPDX-License-Identifier: Apache-2.0
// The column of one end: its states, Terminates, registered memory, and what its program posted and received.
import * as React from 'react';
import { End, seconds } from '../../explain/page/model';
import { useWidth } from '../../explain/page/virtual_list';
import { EndState, Event, Memory, NAMES } from './state';

const WIDE = 300; // minimum width in px for 32 octets per line

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

function Log({ log, known }: { log: Event[]; known: number }): JSX.Element {
  const box = React.useRef<HTMLOListElement>(null);
  React.useEffect(() => { if (box.current) box.current.scrollTop = box.current.scrollHeight; }, [log]);
  return (
    <section className="log" aria-label="Log of the program">
      <h3>Posted and completed</h3>
      <ol ref={box} aria-live="polite" tabIndex={0}>{log.map((line, i) => (
        <li key={i} className={`${line.kind}${i >= known ? ' fresh' : ''}`}>
          <span className="time">{seconds(line.at)}</span> {line.text}</li>))}
      </ol>
    </section>
  );
}

/** `children` follow the states: the requests that the program of this end can post. */
export function EndColumn({ end, state, before, speech, children }: {
  end: End; state: EndState; before: EndState | undefined; speech: React.ReactNode; children: React.ReactNode;
}): JSX.Element {
  const box = React.useRef<HTMLElement>(null);
  const perLine = useWidth(box) >= WIDE ? 32 : 16; // number of octets per line
  const marked = (key: 'startup' | 'qp') => (before && before[key] !== state[key] ? 'changed' : '');
  return (
    <section className="end" data-end={end} aria-label={NAMES[end]} ref={box}>
      <h2>{NAMES[end]}</h2>
      {speech}
      <dl className="facts">
        <dt>queue pair</dt><dd className={marked('qp')} data-fact="qp">{state.qp}</dd>
        <dt>MPA startup</dt><dd className={marked('startup')} data-fact="startup">{state.startup}</dd>
        <dt>Receives posted</dt><dd data-fact="receives">{state.receives}</dd>
        <dt>requests outstanding</dt><dd data-fact="requests">{state.requests}</dd>
        {state.terminate_sent && <><dt>Terminate sent</dt><dd className="rule" data-fact="terminate-sent">{state.terminate_sent}</dd></>}
        {state.terminate_received && <><dt>Terminate received</dt><dd className="rule" data-fact="terminate-received">{state.terminate_received}</dd></>}
      </dl>
      {children}
      <div className="memories">
        {state.memory.map((memory, i) => <Region key={memory.name} {...{ memory, perLine }} before={before?.memory[i]} />)}
      </div>
      <Log log={state.log} known={before ? before.log.length : Infinity} />
    </section>
  );
}
