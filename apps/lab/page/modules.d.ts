// SPDX-License-Identifier: Apache-2.0
// What the bundler puts in.
declare module 'lab.wasm' {
  const bytes: Uint8Array;
  export default bytes;
}
declare module 'explain.html' {
  const template: string;
  export default template;
}
