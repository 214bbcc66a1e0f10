// SPDX-License-Identifier: Apache-2.0
// Opens pages in headless Chromium, and collects every problem that a test finds. A page may fetch
// nothing and log nothing to the console.
// Usage of each test: node TEST.mjs PLAYWRIGHT_MODULE CHROMIUM PAGE.html FOLDER ARGUMENT...
import { pathToFileURL } from 'node:url';
import path from 'node:path';

const [modulePath, executablePath, file, folder, ...others] = process.argv.slice(2);
const playwright = (await import(pathToFileURL(modulePath))).default;
const browser = await playwright.chromium.launch({ executablePath,
  args: ['--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking'] });

export const page = pathToFileURL(file).href;
export const words = others; // the further arguments of the test
export const problems = [];
export const note = (where, found) => { for (const one of found) problems.push(`${where}: ${one}`); };
export const same = (what, found, wanted) => {
  const [a, b] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (a !== b) problems.push(`${what}: ${a}, not ${b}`);
};
export const has = (what, text, part) => {
  if (!text.includes(part)) problems.push(`${what}: "${text}" without "${part}"`);
};

/** Returns the path of a file that stays after the test, for example a screenshot. */
export const kept = (name) => path.join(folder, name);

/** Opens a page and waits until it shows `ready`. Each message on the console whose kind is in `kinds` is a problem. */
export async function open(options, { ready = 'body[data-ready="true"]', url = page, kinds } = {}) {
  const view = await browser.newPage(options);
  // The timeout is long because the page is slow while other tests run.
  view.setDefaultTimeout(120000);
  view.on('console', (message) => {
    if (!kinds || kinds.includes(message.type())) problems.push(`console: ${message.text()}`);
  });
  view.on('pageerror', (error) => problems.push(`page: ${error.message}`));
  view.on('dialog', (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  view.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && request.url() !== url.split('#')[0]) problems.push(`fetches ${request.url()}`);
  });
  await view.goto(url);
  await view.waitForSelector(ready);
  return view;
}

/** Runs a test, prints its problems and their number behind `title`, and ends the process. */
export async function finish(title, test) {
  try {
    await test();
  } catch (error) {
    problems.push(`stopped: ${error.stack}`);
  } finally {
    await browser.close();
  }
  for (const problem of problems) console.log(problem);
  console.log(`${title} ${problems.length} problems`);
  process.exit(problems.length === 0 ? 0 : 1);
}

// The parts of pages that show frames.
export const range = (begin, size) => Array.from({ length: size }, (_, i) => begin + i);
export const litOctets = (view) => view.locator('.octet.lit').evaluateAll((cells) =>
  cells.filter((cell) => cell.dataset.at !== undefined).map((cell) => Number(cell.dataset.at)));
export const told = (view) => view.locator('#field').innerText();
export const heading = (view) => view.locator('.message h2').innerText();
