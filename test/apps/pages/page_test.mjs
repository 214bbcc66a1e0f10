// SPDX-License-Identifier: Apache-2.0
// Opens a report in headless Chromium. Every chart must be drawn, and the page must fetch nothing
// and log nothing to the console. On a phone nothing may be cut off. In dark mode and in print
// everything must have enough contrast. Each chart must have a text and its numbers. Saves
// screenshots and a PDF.
import { unreadable } from './page_checks.mjs';
import { finish, kept, note, open as openPage, problems } from './page_session.mjs';

const CHARTS = ['bars', 'size', 'rate', 'share', 'reuse', 'laws', 'waterfall', 'eras', 'file'];
const TABLES = ['crossovers', 'crc', 'predictions', 'published', 'parameters'];
const LEAST_SHAPES = 12; // more shapes than a chart with only axes has
// All but the map of LAWS, whose colours encode numbers. Uncertainty bands, which are drawn behind their lines, are not
// opaque.
const SHAPES = 'figure:not(#laws) svg .mark-rect path, figure:not(#laws) svg .mark-line path';
const PHONE = 400;
const PAPER = 680; // A4 without its margins, in CSS pixels
const SMALLEST_TEXT = 9;

const open = (options) => openPage(options, { kinds: ['error', 'warning'] });
const shoot = (view, name) => view.screenshot({ path: kept(`${name}.png`), fullPage: true });

/** Returns elements that overflow the page or their chart, and text that is too small to read. */
const cutOff = (view, smallest) => view.evaluate((least) => {
  const out = [];
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > room) {
    out.push(`the page is ${document.documentElement.scrollWidth} wide where there are ${room}`);
  }
  for (const svg of document.querySelectorAll('figure svg')) {
    const { id } = svg.closest('figure');
    const box = svg.getBoundingClientRect();
    if (box.left < -1 || box.right > room + 1) out.push(`${id}: from ${box.left} to ${box.right} of ${room}`);
    for (const text of svg.querySelectorAll('text')) {
      const its = text.getBoundingClientRect();
      if (!text.textContent || Number(getComputedStyle(text).opacity) === 0 || its.width === 0) continue;
      if (its.left < box.left - 2 || its.right > box.right + 2 || its.top < box.top - 2 || its.bottom > box.bottom + 2) {
        out.push(`${id}: "${text.textContent}" is cut off`);
      }
      const size = parseFloat(getComputedStyle(text).fontSize) * (box.width / svg.viewBox.baseVal.width);
      if (size < least) out.push(`${id}: "${text.textContent}" is ${size.toFixed(1)} px`);
    }
  }
  return out;
}, smallest);

async function drawn(view) {
  for (const id of CHARTS) {
    const found = await view.locator(`figure#${id}`).evaluate((element) => {
      const svg = element.querySelector('svg');
      if (!svg) return { shapes: 0, width: 0 };
      const shapes = svg.querySelectorAll('.mark-rect path, .mark-line path, .mark-area path, ' +
        '.mark-symbol path, .mark-rule line, .mark-text text');
      const caption = document.getElementById(element.getAttribute('aria-labelledby'));
      return { shapes: shapes.length, width: svg.getBoundingClientRect().width,
        bad: /NaN|Infinity|undefined/.test(svg.outerHTML),
        role: svg.getAttribute('role'), label: svg.getAttribute('aria-label') || '',
        caption: caption ? caption.textContent : '',
        rows: element.querySelectorAll('details table tbody tr').length,
        cells: element.querySelector('details table')?.textContent || '' };
    });
    if (found.shapes < LEAST_SHAPES || found.width < 300) {
      problems.push(`${id}: not drawn (${found.shapes} shapes, ${found.width} wide)`);
      continue;
    }
    if (found.bad) problems.push(`${id}: has no number somewhere`);
    if (found.role !== 'img' || found.label.length < 40 || /NaN|undefined/.test(found.label)) {
      problems.push(`${id}: says to a screen reader "${found.role}: ${found.label}"`);
    }
    if (found.caption.length < 40) problems.push(`${id}: has no caption`);
    if (found.rows < 2 || /NaN|undefined/.test(found.cells)) problems.push(`${id}: ${found.rows} rows of numbers`);
    await view.locator(`figure#${id}`).screenshot({ path: kept(`${id}.png`) });
  }
  for (const id of TABLES) {
    const rows = await view.locator(`table#${id} tr`).count();
    if (rows < 4) problems.push(`table ${id}: ${rows} rows`);
    const heads = await view.locator(`table#${id} th[scope="col"]`).count();
    if (heads < 2) problems.push(`table ${id}: ${heads} headings`);
  }
}

await finish(`${CHARTS.length} charts,`, async () => {
  const desk = await open({ viewport: { width: 1100, height: 900 } });
  await drawn(desk);
  note('light', await unreadable(desk, SHAPES));
  note('wide', await cutOff(desk, SMALLEST_TEXT));
  await shoot(desk, 'page');

  // Prints the page in the colours of the screen, here from dark mode.
  await desk.emulateMedia({ colorScheme: 'dark' });
  note('dark', await unreadable(desk, SHAPES));
  await shoot(desk, 'dark');
  await desk.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await desk.setViewportSize({ width: PAPER, height: 900 });
  const paper = await desk.evaluate(() => getComputedStyle(document.body).backgroundColor);
  if (paper !== 'rgb(255, 255, 255)') problems.push(`paper: is printed on ${paper}`);
  note('paper', await unreadable(desk, SHAPES));
  note('paper', await cutOff(desk, 7));
  await shoot(desk, 'paper');
  await desk.pdf({ path: kept('page.pdf'), format: 'A4' });

  const phone = await open({ viewport: { width: PHONE, height: 800 }, colorScheme: 'dark' });
  note('phone', await cutOff(phone, SMALLEST_TEXT));
  note('phone', await unreadable(phone, SHAPES));
  await phone.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
  note('phone, numbers shown', await cutOff(phone, SMALLEST_TEXT));
  await phone.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = false; }));
  await shoot(phone, 'phone');
});
