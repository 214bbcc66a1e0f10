// SPDX-License-Identifier: Apache-2.0
// Declares the types of the files that the bundler embeds.
declare module 'lab.wasm' {
  const bytes: Uint8Array;
  export default bytes;
}
declare module 'explain.html' {
  const template: string;
  export default template;
}
