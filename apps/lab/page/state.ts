// SPDX-License-Identifier: Apache-2.0
// The state of both ends and of the link, as the module reports it.
import { End } from '../../explain/page/model';

export interface Memory { name: string; stag: string; to: string; valid: boolean; rights: string; octets: string }
export interface Event { at: number; kind: 'post' | 'completion' | 'failure' | 'news'; text: string }
export interface EndState {
  startup: string; qp: string; receives: number; requests: number; mulpdu: number;
  terminate_sent?: string; terminate_received?: string; memory: Memory[]; log: Event[];
}
/** A segment that has not arrived completely. */
export interface Flight {
  from: End; kind: 'octets' | 'fin' | 'reset'; offset: number; size: number; arrived: number; due: number;
}
export interface State extends Record<End, EndState> {
  now: number; cut: boolean; arrived: Record<End, number>; flight: Flight[];
  due?: { from: End; octets: number };
}

export const NAMES: Record<End, string> = { near: 'initiator', far: 'responder' };
export const LETTERS: Record<End, string> = { near: 'a', far: 'b' };
