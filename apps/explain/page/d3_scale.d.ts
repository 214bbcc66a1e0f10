// SPDX-License-Identifier: Apache-2.0
// Declares the types of d3-scale that the page uses, because some releases of Debian do not have them.
declare module 'd3-scale' {
  export interface Linear {
    (value: number): number;
    domain(values: readonly [number, number]): Linear;
    range(values: readonly [number, number]): Linear;
    clamp(on: boolean): Linear;
    invert(value: number): number;
    ticks(count: number): number[];
    tickFormat(count: number): (value: number) => string;
  }
  export interface Point {
    (value: string): number | undefined;
    domain(values: readonly string[]): Point;
    range(values: readonly [number, number]): Point;
    padding(share: number): Point;
  }
  export function scaleLinear(): Linear;
  export function scalePoint(): Point;
}
