// SPDX-License-Identifier: Apache-2.0
// Runs random sessions of iwarp lab in its WebAssembly module, and prints a digest of them.
// Usage: node lab_digest.mjs LAB.wasm SEED COUNT
import fs from 'node:fs';

const [file, seed, count] = process.argv.slice(2);
const module = new WebAssembly.Module(fs.readFileSync(file));
const NOT_THERE = 52; // WASI: ENOSYS
const wasi = WebAssembly.Module.imports(module).map(({ name }) => [name, () => {
  if (name === 'proc_exit') throw new Error('the module has ended');
  return NOT_THERE;
}]);
const { exports } = new WebAssembly.Instance(module, { wasi_snapshot_preview1: Object.fromEntries(wasi) });
exports._initialize();
const size = exports.lab_digest(Number(seed), Number(count));
console.log(new TextDecoder().decode(new Uint8Array(exports.memory.buffer, exports.lab_output(), size)));
