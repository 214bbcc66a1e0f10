// SPDX-License-Identifier: Apache-2.0
// Opens a report in headless Chromium. Every chart must be drawn, and the page must fetch nothing
// and log nothing to the console. The page fits on one screen, and on one sheet of paper, while its
// details are folded. On a phone nothing may be cut off. In dark mode and in print everything must
// have enough contrast. Each chart must have a text. The pictures use a colour for one thing only,
// and no line crosses the text of the flip. Saves screenshots and a PDF.
import { unreadable } from './page_checks.mjs';
import { finish, kept, note, open as openPage, problems } from './page_session.mjs';

const CHARTS = ['time', 'flip', 'reuse', 'share'];
const TABLES = ['ways', 'crossovers', 'sizes', 'shares', 'crc', 'published', 'parameters'];
const LEAST_SHAPES = 12; // more shapes than a chart with only axes has
// Uncertainty bands, which are drawn behind their lines, are not opaque.
const SHAPES = 'figure svg .mark-rect path, figure svg .mark-line path';
const SCREEN = { width: 1280, height: 800 };
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
    if (!svg.checkVisibility()) continue; // folded away
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
        caption: caption ? caption.textContent : '' };
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
    await view.locator(`figure#${id}`).screenshot({ path: kept(`${id}.png`) });
  }
  for (const id of TABLES) {
    const rows = await view.locator(`table#${id} tr`).count();
    if (rows < 4) problems.push(`table ${id}: ${rows} rows`);
    const heads = await view.locator(`table#${id} th[scope="col"]`).count();
    if (heads < 2) problems.push(`table ${id}: ${heads} headings`);
    const cells = await view.locator(`table#${id}`).textContent();
    if (/NaN|undefined/.test(cells)) problems.push(`table ${id}: has no number somewhere`);
  }
}

const fold = (view, open) => view.evaluate((value) => {
  for (const details of document.querySelectorAll('details')) details.open = value;
}, open);

/** Checks what a reader sees first: the sentences and two pictures on one screen. */
async function firstScreen(view) {
  const seen = await view.evaluate(() => ({ height: document.documentElement.scrollHeight,
    sentences: [...document.querySelectorAll('#sentences dd')].map((dd) => dd.textContent),
    folded: [...document.querySelectorAll('details')].every((details) => !details.open) }));
  if (seen.height > SCREEN.height || !seen.folded) problems.push(`the page is ${seen.height} high where there are ${SCREEN.height}`);
  if (seen.sentences.length !== 4 || seen.sentences.some((text) => !text.endsWith('.'))) {
    problems.push(`sentences: ${JSON.stringify(seen.sentences)}`);
  }
  const colours = (id) => view.locator(`figure#${id} svg`).evaluate((svg) => [...svg.querySelectorAll(
    '.mark-rect.role-mark path, .mark-line path, .mark-area path, .mark-rule.role-mark line')].flatMap((shape) => {
    const { fill, stroke } = getComputedStyle(shape);
    return [fill, stroke].filter((colour) => colour !== 'none');
  }));
  const [work, ways] = [new Set(await colours('time')), new Set(await colours('flip'))];
  for (const colour of work) if (ways.has(colour)) problems.push(`${colour} is a kind of work and a way`);
  const crossed = await view.locator('figure#flip svg').evaluate((svg) => {
    const boxes = (selector) => [...svg.querySelectorAll(selector)].map((shape) => shape.getBoundingClientRect());
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    return boxes('.mark-line path, .mark-rule line, .mark-area path').filter((line) =>
      boxes('.role-title text').some((text) => meet(line, text))).length;
  });
  if (crossed > 0) problems.push(`${crossed} lines cross the text of the flip`);
}

/** Checks that the band of the flip is in its picture, if the crossover is uncertain. */
async function band(view) {
  const found = await view.evaluate(() => {
    const { low, high } = data.crossovers.find((c) => c.over === 'kernel sockets' && c.what.endsWith('registered each time'));
    return { uncertain: low !== high, shaded: document.querySelectorAll('figure#flip svg .mark-rect path').length };
  });
  if (found.shaded !== (found.uncertain ? 1 : 0)) problems.push(`flip: ${JSON.stringify(found)}`);
}

/** Checks that the table of parameters shows each value exactly. */
async function exact(view) {
  const wrong = await view.evaluate(() => data.parameters.filter((p) =>
    ![...document.querySelectorAll('#parameters tbody tr')].some((row) => row.cells[0].textContent === p.key &&
      Number(row.cells[2].textContent) === p.value)).map((p) => p.key));
  if (wrong.length > 0) problems.push(`rounded parameters: ${wrong}`);
}

await finish(`${CHARTS.length} charts,`, async () => {
  const desk = await open({ viewport: SCREEN });
  await firstScreen(desk);
  await band(desk);
  await exact(desk);
  await shoot(desk, 'screen');
  await fold(desk, true);
  await drawn(desk);
  note('light', await unreadable(desk, SHAPES));
  note('wide', await cutOff(desk, SMALLEST_TEXT));
  await shoot(desk, 'page');

  // Prints the page in the colours of the screen, here from dark mode.
  await desk.emulateMedia({ colorScheme: 'dark' });
  note('dark', await unreadable(desk, SHAPES));
  await fold(desk, false);
  await shoot(desk, 'dark');
  await desk.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await desk.setViewportSize({ width: PAPER, height: 900 });
  const paper = await desk.evaluate(() => getComputedStyle(document.body).backgroundColor);
  if (paper !== 'rgb(255, 255, 255)') problems.push(`paper: is printed on ${paper}`);
  note('paper', await unreadable(desk, SHAPES));
  note('paper', await cutOff(desk, 7));
  await shoot(desk, 'paper');
  const pdf = await desk.pdf({ path: kept('page.pdf'), format: 'A4' });
  const sheets = pdf.toString('latin1').match(/\/Type\s*\/Page\b/g).length;
  if (sheets !== 1) problems.push(`paper: ${sheets} sheets`);

  const phone = await open({ viewport: { width: PHONE, height: 800 }, colorScheme: 'dark' });
  note('phone', await cutOff(phone, SMALLEST_TEXT));
  note('phone', await unreadable(phone, SHAPES));
  await fold(phone, true);
  note('phone, unfolded', await cutOff(phone, SMALLEST_TEXT));
  await fold(phone, false);
  await shoot(phone, 'phone');
});
