// SPDX-License-Identifier: Apache-2.0
// Shows the states of both ends after a frame, and the state changes that the frame caused.
import * as React from 'react';
import { Change, Connection, End, States, statesAt } from './model';

const MACHINES: { name: string; of: (states: States) => string | null }[] = [
  { name: 'MPA startup', of: (states) => states.mpa },
  { name: 'RDMAP stream', of: (states) => states.rdmap },
  { name: 'queue pair', of: (states) => states.qp },
];

const EVENTS: Record<string, string> = {
  TerminateLeft: 'Terminate sent', TerminateArrived: 'Terminate received', LowerLayerClosed: 'TCP closed',
  ConnectionLost: 'TCP ended',
};

/** Returns the name of an event in words: the state tables have names such as "GoodReply". */
const eventText = (name: string): string =>
  EVENTS[name] ?? name.replace(/([a-z])([A-Z])/g, (_, before, next) => `${before} ${next.toLowerCase()}`);

function Cell({ machine, changes, state }: { machine: string; changes: Change[]; state: string | null }): JSX.Element {
  const steps = changes.filter((change) => change.machine === machine);
  return (
    <td className={steps.length > 0 ? 'changed' : ''}>
      <b>{state ?? '–'}</b>
      {steps.map((step, i) => (
        <small key={i}>{step.from} → {step.to}: {eventText(step.event)} <cite>{step.rule}</cite></small>))}
    </td>
  );
}

export function EndStates({ connection, at }: { connection: Connection; at: number }): JSX.Element {
  const states = React.useMemo(() => statesAt(connection, at), [connection, at]);
  const changes = connection.rows[at].changes ?? [];
  const ends: End[] = ['near', 'far'];
  return (
    <section className="states" aria-label="States of both ends">
      <h2>States</h2>
      {states ? (
        <table>
          <thead><tr><th scope="col">Machine</th>{ends.map((end) => (
            <th key={end} scope="col">{connection.names[end]}</th>))}</tr></thead>
          <tbody>{MACHINES.map(({ name, of }) => (
            <tr key={name}><th scope="row">{name}</th>{ends.map((end) => (
              <Cell key={end} machine={name} state={of(states[end])}
                changes={changes.filter((change) => change.end === end)} />))}
            </tr>))}
          </tbody>
        </table>
      ) : <p className="where">The states are not known yet.</p>}
    </section>
  );
}
