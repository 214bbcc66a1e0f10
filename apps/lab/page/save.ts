// SPDX-License-Identifier: Apache-2.0
// Saves a session as a capture, as a link, or as a page of `iwarp explain`.
import template from 'explain.html';

function download(name: string, type: string, content: BlobPart): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export const savePcap = (octets: Uint8Array): void => download('lab.pcap', 'application/vnd.tcpdump.pcap', octets);

export const savePage = (explained: string): void =>
  download('lab-session.html', 'text/html', template.split('@MODEL@').join(explained.replace(/</g, '\\u003c')));

export const linkOf = (script: string): string => `${window.location.href.split('#')[0]}#${script}`;

/** Returns the script in the page's URL. If the URL cannot be decoded, returns the text unchanged; the module will
 * then refuse it. */
export function scriptInLink(): string {
  const text = window.location.hash.slice(1);
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
