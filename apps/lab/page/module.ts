// SPDX-License-Identifier: Apache-2.0
// Calls the stack, which is a WebAssembly module: both input and output are text. The module interprets octets and
// states; the page only shows the results.
import bytes from 'lab.wasm';
import { Session, readSession } from '../../explain/page/model';
import { State } from './state';

const NOT_THERE = 52; // WASI's errno for a system call that is not available

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  lab_input(size: number): number;
  lab_output(): number;
  lab_forward(step: number): number;
  lab_back(step: number): number;
  [call: string]: unknown;
}

export const STEPS = ['octet', 'segment', 'operation'] as const;
export type Step = (typeof STEPS)[number];
/** An action: its word in the script, and its description. */
export interface Item { word: string; says: string }

export class Lab {
  private constructor(private readonly exports: Exports) {}

  static async load(): Promise<Lab> {
    const module = await WebAssembly.compile(bytes);
    const stop = (code: number) => { throw new Error(`the module ended with ${code}`); };
    const wasi = WebAssembly.Module.imports(module)
      .map(({ name }) => [name, name === 'proc_exit' ? stop : () => NOT_THERE]);
    const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: Object.fromEntries(wasi) });
    const exports = instance.exports as unknown as Exports;
    exports._initialize();
    return new Lab(exports);
  }

  private output(size: number): Uint8Array {
    return new Uint8Array(this.exports.memory.buffer, this.exports.lab_output(), size).slice();
  }

  private ask(call: string, input = ''): string {
    const octets = new TextEncoder().encode(input);
    // lab_input() may grow the module's memory, and `memory.buffer` is then a new object. Read it
    // only after this call.
    const at = this.exports.lab_input(octets.length);
    new Uint8Array(this.exports.memory.buffer, at, octets.length).set(octets);
    return new TextDecoder().decode(this.output((this.exports[call] as () => number)()));
  }

  /** Calls a function that performs an action. Returns why the action was refused, or null if it was performed. */
  private order(call: string, input: string): string | null {
    const answer = this.ask(call, input);
    return answer.startsWith('!') ? answer.slice(1) : null;
  }

  private list(call: string): Item[] {
    return this.ask(call).split('\n').filter((line) => line).map((line) => {
      const [word, says] = line.split('\t');
      return { word, says };
    });
  }

  open(script: string): string | null { return this.order('lab_open', script); }
  act(word: string): string | null { return this.order('lab_act', word); }
  forward(step: Step): boolean { return this.exports.lab_forward(STEPS.indexOf(step)) !== 0; }
  back(step: Step): boolean { return this.exports.lab_back(STEPS.indexOf(step)) !== 0; }
  script(): string { return this.ask('lab_script'); }
  done(): Item[] { return this.list('lab_done'); }
  ahead(): Item[] { return this.list('lab_ahead'); }
  state(): State { return JSON.parse(this.ask('lab_state')); }
  /** Returns the decoded frames of everything that was sent, one JSON object per line. */
  explained(): string { return this.ask('lab_explained'); }
  session(): Session { return readSession(this.explained()); }
  capture(): Uint8Array { return this.output((this.exports.lab_capture as () => number)()); }
}
