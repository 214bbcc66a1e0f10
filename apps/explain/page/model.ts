// SPDX-License-Identifier: Apache-2.0
// Reads a session from the output of `iwarp explain --json -vv`, which apps/frames/README.md describes. Makes the
// rows through which the user steps. This code decodes no octets: iwarp has already done this.

export type End = 'near' | 'far';
export type Layer = 'mpa' | 'marker' | 'ddp' | 'rdmap' | 'ulp';

export interface FieldRow { layer: Layer; name: string; section: string; why: string }
/** A violated rule. `field` is the row in the table of fields for the field that violates the rule. */
export interface Violation { rule: string; says: string; detail: string; field?: number }
export interface Change { end: End; machine: string; from: string; event: string; to: string; rule: string }
export interface States { mpa: string; rdmap: string | null; qp: string }
export interface Access {
  owner: End; kind: 'write' | 'receive' | 'read' | 'atomic'; to: string; size: number;
  stag?: string; msn?: number; doubtful?: boolean;
}
export interface Region {
  stag: string; begin: string; end: string; first: number; uses: number; invalidated?: number;
}
/** A field in the form in which iwarp writes it: [row of the table, value, [begin, size, ...], first bit, number of
 * bits]. */
type FieldTuple = [number, string, number[], number?, number?];

interface Step {
  connection: number; after: number; packet: number;
  changes?: Change[]; states?: Record<End, States>;
}
export interface Frame extends Step {
  type: 'frame'; frame: number; from: End; offset: number; size: number; text: string; op: string;
  error?: boolean; missing?: number; operation?: number; request?: number; cause?: number;
  stag_origin?: { frame: number };
  violations?: Violation[]; access?: Access; fields: FieldTuple[]; octets: string; last_octets?: string;
}
export interface Skipped extends Step {
  type: 'skipped'; from: End; offset: number; size: number; missing: number; says: string;
}
export interface Closed extends Step { type: 'closed'; how: string }
/** An action of one end, as that end logged it. */
export interface Local extends Step {
  type: 'local'; end: End; event: string; text: string; error?: boolean; data: Record<string, unknown>;
}
export type Row = Frame | Skipped | Closed | Local;

export interface Connection {
  number: number; names: Record<End, string>; openingSeen: boolean;
  rows: Row[];
  frames: number; violations: number;
  memory: Record<End, Region[]>;
  /** Maps the number of each frame to its row. */
  rowOf: Map<number, number>;
  /** Maps each frame that a Terminate reports to the frame with this Terminate. */
  refusedBy: Map<number, number>;
}
export interface Session {
  connections: Connection[]; table: FieldRow[];
  summary: { frames: number; violations: number; left_out: number } | null;
}

/** A field of one frame, including the data from its row in the table of fields. */
export interface Field extends FieldRow {
  index: number; row: number; value: string; ranges: { begin: number; size: number }[]; firstBit: number; bits: number;
}

export const isError = (row: Row): boolean =>
  row.type === 'skipped' || ((row.type === 'frame' || row.type === 'local') && row.error === true);

export const fieldsOf = (session: Session, frame: Frame): Field[] =>
  frame.fields.map(([row, value, octets, firstBit = 0, bits = 0], index) => {
    const ranges = [];
    for (let i = 0; i < octets.length; i += 2) ranges.push({ begin: octets[i], size: octets[i + 1] });
    return { ...session.table[row], index, row, value, ranges, firstBit, bits };
  });

/** Returns a function that maps an index in the frame to the octet there. The model lacks the middle of a long
 * frame; for an index there, the function returns undefined. */
export function octetsOf(frame: Frame): (at: number) => number | undefined {
  const first = frame.octets.length / 2;
  const last = frame.last_octets ?? '';
  const behind = frame.size - last.length / 2;
  return (at) => {
    if (at < first) return parseInt(frame.octets.substr(2 * at, 2), 16);
    if (at >= behind && at < frame.size) return parseInt(last.substr(2 * (at - behind), 2), 16);
    return undefined;
  };
}

const newConnection = (number: number): Connection => ({
  number, names: { near: 'near', far: 'far' }, openingSeen: false, rows: [], frames: 0, violations: 0,
  memory: { near: [], far: [] }, rowOf: new Map(), refusedBy: new Map(),
});

function addRow(connection: Connection, row: Row): void {
  if (row.type === 'frame') {
    connection.rowOf.set(row.frame, connection.rows.length);
    connection.frames += 1;
    connection.violations += row.violations?.length ?? 0;
    if (row.cause !== undefined) connection.refusedBy.set(row.cause, row.frame);
  }
  connection.rows.push(row);
}

/** Parses the output of iwarp, which has one JSON object per line. */
export function readSession(text: string): Session {
  const session: Session = { connections: [], table: [], summary: null };
  const known = new Map<number, Connection>();
  const of = (number: number): Connection => {
    let connection = known.get(number);
    if (!connection) {
      connection = newConnection(number);
      known.set(number, connection);
      session.connections.push(connection);
    }
    return connection;
  };
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const object = JSON.parse(line);
    switch (object.type) {
      case 'fields': session.table = object.fields; break;
      case 'connection':
        of(object.connection).names = { near: object.near, far: object.far };
        of(object.connection).openingSeen = object.opening_seen;
        break;
      case 'memory': of(object.connection).memory = { near: object.near, far: object.far }; break;
      case 'summary': session.summary = object; break;
      case 'frame': case 'skipped': case 'closed': case 'local': addRow(of(object.connection), object); break;
      default: break;
    }
  }
  return session;
}

const CLOSINGS: Record<string, string> = {
  fin: 'closed by both ends (FIN)', reset: 'reset (RST)', replaced: 'replaced by a new connection with the same ports',
  'set-aside': 'stopped following this connection: too many connections are open',
  'end-of-capture': 'still open when the capture ends',
};

/** Describes how a connection ended, or that it did not end. */
export const closedText = (row: Closed): string => CLOSINGS[row.how] ?? row.how;

/** Describes octets that belong to no frame, and the reason. */
export const skippedText = (row: Skipped): string =>
  row.missing === row.size ? `${counted(row.size, 'octet')} not in the capture`
    : `${counted(row.size, 'octet')} outside any frame${row.says ? `: ${row.says}` : ''}`;

/** Returns the states of both ends after the row `at`. */
export function statesAt(connection: Connection, at: number): Record<End, States> | null {
  for (let i = at; i >= 0; i -= 1) {
    const { states } = connection.rows[i];
    if (states) return states;
  }
  return null;
}

export const seconds = (nanoseconds: number): string => (nanoseconds / 1e9).toFixed(6);
export const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;
