// SPDX-License-Identifier: Apache-2.0
// The guided tour: seven stops. Each stop is a separate session, which runs in steps called beats. A beat performs
// some actions, and its text says what the user can then see.

import { End } from '../../explain/page/model';
import { NAMES } from './state';

/** A part of the page that a beat mentions: its name, and a CSS selector that finds it. */
export interface Part { name: string; at: string }

export interface Beat {
  says: string;
  /** Words of actions. Also "run", "segment", "all but one octet", and "damage N", which flips a bit in octet N of
   * the segment that is due. */
  do?: string[];
  /** Name of the field that is highlighted in the open frame. */
  field?: string;
  /** Other parts of the page that `says` mentions, most important first. The page highlights them and scrolls them
   * into view. */
  parts?: Part[];
}
export interface Stop { title: string; settings: string; first: string[]; beats: Beat[] }

const log = (end: End): Part => ({ name: `log of the ${NAMES[end]}`, at: `[data-end=${end}] .log` });
const memory = (end: End, name: string): Part => ({ name: `${name} of the ${NAMES[end]}`, at: `[data-end=${end}] [data-memory=${name}]` });
const fact = (end: End, name: string, says: string): Part => ({ name: `${says} of the ${NAMES[end]}`, at: `[data-end=${end}] [data-fact=${name}]` });
const WINDOW = memory('far', 'window');
const BOTH_STATES = [fact('near', 'qp', 'queue pair'), fact('far', 'qp', 'queue pair')];
const BOTH_RECEIVES = [fact('near', 'receives', 'Receives'), fact('far', 'receives', 'Receives')];
const TERMINATE = fact('far', 'terminate-sent', 'Terminate');

export type Column = End | 'wire';

/** Returns the column in which the text of a beat is shown: the one with the first of its parts. A field is in the
 * wire's column. */
export const columnOf = ({ parts = [] }: Beat): Column =>
  (/^\[data-end=(near|far)\]/.exec(parts[0]?.at ?? '')?.[1] ?? 'wire') as Column;

/** Returns the parts of the page that a beat mentions, including its field. */
export const partsOf = ({ field, parts = [] }: Beat): Part[] =>
  (field ? [{ name: `${field} in the frame`, at: '.wire .octet.lit' }, ...parts] : parts);

const PLAIN = 'crc=both+markers=none';
const CONNECTED = ['connect', 'run'];
const TOLD = [...CONNECTED, 'send.a.24', 'run', 'tell.b', 'run'];

export const TOUR: Stop[] = [
  {
    title: 'STag exchange', settings: PLAIN, first: [],
    beats: [
      { says: 'Each of the two programs has registered memory: a region has a name (STag), a first address (TO) and access rights. Each program has posted four Receives. Nothing has been sent: both queue pairs are Idle.', parts: [...BOTH_STATES, ...BOTH_RECEIVES, memory('near', 'window'), WINDOW] },
      { says: 'The initiator connects. Its MPA Request is in flight. The Request contains a key that identifies MPA, the revision, private data, and whether the sender requests markers and CRCs. Point at the octets of the Request.', do: ['connect'], field: 'Key' },
      { says: 'The Request arrived, the responder accepted the connection, and its Reply arrived. Startup is complete and both queue pairs are in RTS: from now on, the stream contains only FPDUs.', do: ['run'], parts: BOTH_STATES },
      { says: 'The initiator sends first: MPA does not allow the responder to send before it has received an FPDU. The frame is a Send, an untagged message: a Send names no memory of the responder, so the responder must have posted a Receive.', do: ['send.a.24'], field: 'QN' },
      { says: 'The Send was placed in the buffer of the first Receive and completed this Receive: see the log, and the inbox of the responder.', do: ['run'], field: 'Payload', parts: [log('far'), memory('far', 'inbox')] },
      { says: 'A peer cannot write to memory that was never advertised. The responder advertises STag, TO and length of its window in an ordinary Send: for the stack these 16 octets are just payload.', do: ['tell.b'], field: 'Payload' },
      { says: 'The Send consumed one Receive of the initiator and completed it: see the log, and the octets in the inbox. The initiator now has everything that it needs to access the window.', do: ['run'], field: 'Payload', parts: [log('near'), memory('near', 'inbox')] },
    ],
  },
  {
    title: 'RDMA Write', settings: PLAIN, first: TOLD,
    beats: [
      { says: 'The initiator posts an RDMA Write of 64 octets, and its segment is in flight. DDP calls the segment tagged, because its header says where in memory the payload goes.', do: ['write.a.64.0'], field: 'STag' },
      { says: 'All octets but the last have arrived, and the window is unchanged: with CRCs, nothing is placed before the CRC has been verified. Step back and forth octet by octet.', do: ['all but one octet'], field: 'CRC', parts: [WINDOW] },
      { says: 'The last octet arrived: the payload is in the window. The responder has no completion, it consumed no Receive, and its program may have slept. Only the initiator has a completion.', do: ['run'], field: 'Payload', parts: [WINDOW, log('near')] },
    ],
  },
  {
    title: 'RDMA Read', settings: PLAIN, first: TOLD,
    beats: [
      { says: 'The initiator reads 64 octets from the middle of the window. It sends a Read Request, an untagged message on queue 1. The Request names the source in the window, and the sink in the memory of the initiator.', do: ['read.a.64.256'], field: 'Data Source STag' },
      { says: 'The responder has answered without its program: a Read Response is in flight, tagged with the STag of the sink. The diagram marks the request that it answers.', do: ['segment'], field: 'STag' },
      { says: 'The octets are in the sink, and the Read completes. The responder has no completion: an RDMA Read is one-sided, like an RDMA Write.', do: ['run'], field: 'Payload', parts: [memory('near', 'sink'), log('near')] },
    ],
  },
  {
    title: 'Send with Invalidate', settings: PLAIN, first: [...TOLD, 'write.a.64.0', 'run'],
    beats: [
      { says: 'The responder has advertised its window, and the initiator has written to it. When the initiator has finished, one message can report this and invalidate the STag: a Send with Invalidate carries the STag in its header.', do: ['invalidate.a.24'], field: 'Invalidate STag' },
      { says: 'The Send was delivered, which invalidated the STag of the window: the completion of the Receive reports this STag. The memory remains, but its STag is no longer valid.', do: ['run'], field: 'Invalidate STag', parts: [log('far'), WINDOW] },
    ],
  },
  {
    title: 'A protection error', settings: PLAIN, first: TOLD,
    beats: [
      { says: 'This Write begins inside the window, but half of its octets are beyond the end of the window. On the wire, the segment looks valid.', do: ['write.a.64.0.bounds'], field: 'TO' },
      { says: 'The responder compared the segment with the bounds of the STag. It placed no octet, and its Terminate is in flight: DDP, tagged buffer error, base or bounds violation. The Terminate returns the header of the rejected segment.', do: ['segment'], field: 'Error Code', parts: [TERMINATE] },
      { says: 'Both queue pairs are in Error and the stream is over: a stream does not survive a protection error, because a peer could otherwise try other addresses until an access succeeds.', do: ['run'], parts: BOTH_STATES },
    ],
  },
  {
    title: 'A CRC error', settings: PLAIN, first: TOLD,
    beats: [
      { says: 'An RDMA Write is in flight, and one bit of its payload was flipped in flight. TCP has its own checksum, but it is weak, and some machines between the ends recompute it.', do: ['write.a.64.0', 'damage 30'], field: 'CRC' },
      { says: 'The CRC32c is wrong: nothing was placed, and the responder sends a Terminate that reports an MPA error.', do: ['segment'], field: 'Error Code', parts: [TERMINATE] },
      { says: 'Both queue pairs are in Error: after a damaged FPDU, even the position of the next FPDU is uncertain.', do: ['run'], parts: BOTH_STATES },
    ],
  },
  {
    title: 'Markers', settings: 'crc=both+markers=both', first: TOLD,
    beats: [
      { says: 'Both ends requested markers. Every 512 octets of the stream, a marker of 4 octets gives the distance back to the header of its FPDU, so a receiver that has lost the FPDU boundaries can find them again. Find the marker in this Write.', do: ['write.a.512.0'], field: 'FPDUPTR' },
      { says: 'The marker was in the middle of the payload, but is not in the window: MPA removes markers before DDP receives the segment. The CRC covers the markers.', do: ['run'], field: 'FPDUPTR', parts: [WINDOW] },
      { says: 'That was the tour. Change the settings, inject a fault, or copy the link to this session.', parts: [{ name: 'the settings', at: '.settings summary' }, { name: 'the faults', at: '.faults' }, { name: 'the link', at: '[data-save=link]' }] },
    ],
  },
];
