// SPDX-License-Identifier: Apache-2.0
// Shows the memory of both ends, as far as the wire reveals it. Each STag is drawn as a bar from the lowest to the
// highest address that was used. The accesses by all frames up to the open frame fill the bar.
import * as React from 'react';
import { scaleLinear } from 'd3-scale';
import { Access, Connection, End, Field, Frame, Region, Session, counted, fieldsOf, octetsOf } from './model';

const BINS = 256;
const PREVIEW = 64; // the page shows at most this many of the octets that the open frame has written
const LINE = 16;

const address = (text: string): bigint => BigInt(`0x${text}`);
const shortAddress = (text: string): string => `0x${text.replace(/^0+(?=.)/, '')}`;

/** One use of a region. Its range is given as fractions of the region's length, from 0 to 1. */
interface Use { row: number; from: number; to: number; fetches: boolean; refusedAt: number }
interface Bar { placed: boolean[]; fetched: boolean[]; now: [number, number] | null }

function useOf(connection: Connection, region: Region, row: number, frame: Frame, access: Access): Use {
  const begin = address(region.begin);
  const whole = Number(address(region.end) - begin) || 1;
  const from = Number(address(access.to) - begin);
  const by = connection.refusedBy.get(frame.frame);
  const refusedAt = (by === undefined ? undefined : connection.rowOf.get(by)) ?? Infinity;
  return { row, from: from / whole, to: (from + access.size) / whole, fetches: access.kind === 'read', refusedAt };
}

const known = new WeakMap<Region, Use[]>();

/** Returns all uses of a region, in the order of the rows. */
function usesOf(connection: Connection, owner: End, region: Region): Use[] {
  let uses = known.get(region);
  if (uses) return uses;
  uses = [];
  for (let i = 0; i < connection.rows.length; i += 1) {
    const row = connection.rows[i];
    if (row.type !== 'frame' || !row.access) continue;
    if (row.access.owner === owner && row.access.stag === region.stag) uses.push(useOf(connection, region, i, row, row.access));
  }
  known.set(region, uses);
  return uses;
}

/** Returns the bar of a region, with the accesses of all frames up to row `at`. */
function barOf(connection: Connection, owner: End, region: Region, at: number): Bar {
  const bar: Bar = { placed: Array(BINS).fill(false), fetched: Array(BINS).fill(false), now: null };
  for (const use of usesOf(connection, owner, region)) {
    if (use.row > at) break;
    if (use.refusedAt <= at) continue;
    if (use.row === at) bar.now = [use.from, use.to];
    const first = Math.floor(use.from * BINS);
    (use.fetches ? bar.fetched : bar.placed).fill(true, first, Math.max(Math.ceil(use.to * BINS), first + 1));
  }
  return bar;
}

/** Returns each run of consecutive true values, as [begin, size]. */
function runs(flags: boolean[]): [number, number][] {
  const out: [number, number][] = [];
  flags.forEach((flag, i) => {
    if (!flag) return;
    if (i > 0 && flags[i - 1]) out[out.length - 1][1] += 1;
    else out.push([i, 1]);
  });
  return out;
}

function RegionBar({ connection, owner, region, at }: {
  connection: Connection; owner: End; region: Region; at: number;
}): JSX.Element {
  const bar = React.useMemo(() => barOf(connection, owner, region, at), [connection, owner, region, at]);
  const x = scaleLinear().domain([0, BINS]).range([0, 100]);
  const share = scaleLinear().domain([0, 1]).range([0, 100]).clamp(true);
  const frame = connection.rows[at];
  const taken = region.invalidated !== undefined && frame.type === 'frame' && frame.frame >= region.invalidated;
  const size = address(region.end) - address(region.begin);
  return (
    <figure className={bar.now ? 'region now' : 'region'}>
      <figcaption>STag <code>0x{region.stag}</code>, {size.toString()} octets from <code>{
        shortAddress(region.begin)}</code>{taken && <b className="rule"> invalidated by frame {region.invalidated}</b>}
      </figcaption>
      <svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img"
        aria-label={bar.now ? 'used by this frame' : 'not used by this frame'}>
        <rect className="room" width="100" height="10" />
        {runs(bar.placed).map(([begin, n]) => (
          <rect key={`p${begin}`} className="placed" x={x(begin)} width={x(n)} height="10" />))}
        {runs(bar.fetched).map(([begin, n]) => (
          <rect key={`f${begin}`} className="fetched" x={x(begin)} width={x(n)} y="7" height="3" />))}
        {bar.now && <rect className="current" x={share(bar.now[0])} height="10"
          width={Math.max(share(bar.now[1]) - share(bar.now[0]), 0.6)} />}
      </svg>
    </figure>
  );
}

const VERBS: Record<Access['kind'], string> = {
  write: 'places', receive: 'places', read: 'requests', atomic: 'changes',
};

function sentence(connection: Connection, frame: Frame, access: Access): string {
  const owner = connection.names[access.owner];
  const where = access.kind === 'receive'
    ? `in the buffer of Receive ${access.msn} of ${owner}, ${Number(address(access.to))} octets from its start`
    : `at ${shortAddress(access.to)} of ${owner}'s STag 0x${access.stag}`;
  return `Frame ${frame.frame} ${VERBS[access.kind]} ${counted(access.size, 'octet')} ${where}.`;
}

/** Shows the payload of the open frame at its addresses in memory, without markers. */
function Preview({ frame, access, payload }: { frame: Frame; access: Access; payload: Field }): JSX.Element {
  const octet = octetsOf(frame);
  const values: (number | undefined)[] = [];
  for (const { begin, size } of payload.ranges) {
    for (let at = begin; at < begin + size && values.length < PREVIEW; at += 1) values.push(octet(at));
  }
  const lines = [];
  for (let i = 0; i < values.length; i += LINE) lines.push(values.slice(i, i + LINE));
  const base = address(access.to);
  return (
    <pre aria-label="The octets in memory">{lines.map((line, i) =>
      `${(base + BigInt(i * LINE)).toString(16).padStart(12, '0')}  ${line.map((v) =>
        (v === undefined ? '··' : v.toString(16).padStart(2, '0'))).join(' ')}\n`).join('')}{
      access.size > PREVIEW ? `… ${counted(access.size - PREVIEW, 'more octet')}` : ''}</pre>
  );
}

const SHOWN = 12;

/** Shows the regions of one end. The region that the open frame uses comes first, then the regions that were used
 * most often. */
function EndMemory({ connection, owner, at }: { connection: Connection; owner: End; at: number }): JSX.Element {
  const row = connection.rows[at];
  const access = row.type === 'frame' ? row.access : undefined;
  const inUse = (region: Region): boolean => access?.owner === owner && access.stag === region.stag;
  const all = connection.memory[owner];
  const shown = all.length <= SHOWN ? all
    : [...all.filter(inUse), ...all.filter((region) => !inUse(region)).sort((a, b) => b.uses - a.uses)].slice(0, SHOWN);
  return (
    <div className="end">
      <h4>{connection.names[owner]}</h4>
      {shown.map((region) => <RegionBar key={region.stag} {...{ connection, owner, region, at }} />)}
      {all.length === 0 && <p className="where">No frame uses an STag of this end.</p>}
      {shown.length < all.length && <p className="where">{all.length - shown.length} more STags.</p>}
    </div>
  );
}

export function Memory({ session, connection, at }: {
  session: Session; connection: Connection; at: number;
}): JSX.Element {
  const row = connection.rows[at];
  const frame = row.type === 'frame' ? row : undefined;
  const access = frame?.access;
  const payload = React.useMemo(
    () => (frame ? fieldsOf(session, frame).find((field) => field.name === 'Payload') : undefined), [session, frame]);
  const by = frame && connection.refusedBy.get(frame.frame);
  return (
    <section className="memory" aria-label="Memory">
      <h2>Memory</h2>
      <p className="now">{frame && access ? sentence(connection, frame, access) : 'No octets are placed or read.'}
        {by !== undefined && <b className="rule"> Refused by the Terminate in frame {by}.</b>}
        {access?.doubtful && by === undefined && <b className="rule"> The frame breaks a rule, so the peer may have refused it.</b>}</p>
      {frame && access && payload && access.kind !== 'read' && access.kind !== 'atomic' && by === undefined
        && <Preview frame={frame} access={access} payload={payload} />}
      <div className="pair">
        <EndMemory connection={connection} owner="near" at={at} />
        <EndMemory connection={connection} owner="far" at={at} />
      </div>
      <p className="legend"><i className="placed" /> placed so far <i className="fetched" /> read <i className="current" /> this frame</p>
    </section>
  );
}
