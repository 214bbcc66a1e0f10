// SPDX-License-Identifier: Apache-2.0
// Opens a page of iwarp explain in headless Chromium and steps through it: highlighted octets and
// their explanations, keys, and folding, in light and dark mode, in a narrow window and in print.
// Saves screenshots. Its argument is demo, errors, rping or many.
import { misplaced, unreadable } from './page_checks.mjs';
import {
  finish, has, heading, kept, litOctets, note, open as openPage, problems, range, same, told, words,
} from './page_session.mjs';

const [kind] = words;
const PAPER = 680; // A4 without its margins, in CSS pixels
const MOST_ROWS = 120; // maximum number of rows that the document contains at the same time
const open = (options) => openPage(options, { ready: '.row' });
const shoot = (view, name) => view.screenshot({ path: kept(`${kind}-${name}.png`) });
const frame = async (view, number) => {
  await view.focus('#rows');
  await view.keyboard.press('Home');
  for (let i = 1; i < number; i += 1) await view.keyboard.press('ArrowDown');
};
async function demo(view) {
  // Keys work before the user has clicked anything, and also after a click on a heading.
  await view.keyboard.press('ArrowDown');
  has('the first key', await heading(view), '2 · ');
  await view.click('h1');
  await view.keyboard.press('k');
  has('a key after a click', await heading(view), '1 · ');
  // A list to choose from uses the arrow keys itself.
  await view.focus('select >> nth=1');
  await view.keyboard.press('ArrowDown');
  same('the operation', await view.locator('select >> nth=1').inputValue(), 'startup');
  await view.keyboard.press('ArrowUp');
  has('the frame', await heading(view), '1 · ');
  // Selects the TO of the RDMA Write in the grid.
  await frame(view, 5);
  has('frame 5', await heading(view), '5 · RDMA Write');
  await view.hover('.octet[data-at="10"]');
  same('the octets of TO', await litOctets(view), range(8, 8));
  has('TO', await told(view), 'DDP · RFC 5041 4.2 · octets 8 to 15');
  same('its row', await view.locator('.fields button.lit span').allInnerTexts(), ['TO']);
  has('memory', await view.locator('.memory .now').first().innerText(), 'Frame 5 places 64 octets at 0x');
  await shoot(view, 'light');

  // Selects one octet with several bit fields.
  await view.hover('.octet[data-at="2"]');
  same('bits', await view.locator('.bits small').allInnerTexts(), ['T', 'L', 'Rsvd', 'DV']);
  // Selects the CRC in the list.
  await view.hover('.fields li button:has-text("CRC")');
  same('the octets of the CRC', await litOctets(view), range(80, 4));

  // Folds the layers one by one, with a key and with clicks.
  await view.focus('#rows');
  await view.keyboard.press('3');
  same('octets of DDP, folded', await view.locator('.octet.layer-ddp[data-at]').count(), 0);
  same('the fold', await view.locator('.folded').allInnerTexts(), ['▸ DDP, 1 octet', '▸ DDP, 12 octets']);
  same('said', await view.locator('.fold.layer-ddp').getAttribute('aria-expanded'), 'false');
  same('octets of RDMAP', await view.locator('.octet.layer-rdmap[data-at]').count(), 1);
  await shoot(view, 'folded');
  await view.click('.fold.layer-ddp');
  same('octets of DDP, unfolded', await view.locator('.octet.layer-ddp[data-at]').count(), 13);

  // Moves from field to field with the keyboard.
  await view.mouse.move(0, 0);
  await view.focus('#octets');
  await view.keyboard.press('Home');
  same('the first field', await litOctets(view), [0, 1]);
  await view.keyboard.press('End');
  same('the last field', await litOctets(view), range(80, 4));
  same('the frame stays', (await heading(view)).slice(0, 1), '5');

  // Goes to a frame with a marker and a pad. The marker precedes the FPDU, so it splits no field.
  await frame(view, 4);
  await view.hover('.octet[data-at="2"]');
  has('a marker', await told(view), 'FPDUPTR');
  same('marker octets', await view.locator('.octet.layer-marker[data-at]').count(), 4);

  // Goes to the next error, and then to the Terminate that follows it.
  await view.focus('#rows');
  await view.keyboard.press('Home');
  await view.keyboard.press('n');
  has('the error', await view.locator('.violations').innerText(), 'DDP-73');
  same('what breaks the rule', await view.locator('.octet.bad[data-at]').count(), 4);
  await view.focus('#rows');
  await view.keyboard.press('n');
  has('the Terminate', await heading(view), 'Terminate');
  same('edges', await view.locator('td.changed').count(), 4);
  await shoot(view, 'terminate');
  await view.keyboard.press('r');
  has('its cause', await heading(view), 'RDMA Write');
  has('memory that was refused', await view.locator('.memory .now').first().innerText(), 'Refused by the Terminate in frame 11');
  await view.keyboard.press('End');
  has('the end', await heading(view), 'closed by both ends (FIN)');
}

async function errors(view) {
  await view.selectOption('select >> nth=0', '2');
  await frame(view, 3);
  has('an MSN', await view.locator('.violations').innerText(), 'DDP-32');
  same('what breaks the rule', await view.locator('.octet.bad[data-at]').evaluateAll((cells) =>
    cells.map((cell) => Number(cell.dataset.at))), range(12, 4));
  await view.getByLabel('errors only').check();
  same('rows with errors', await view.locator('.row').count(), 2);
  await view.getByLabel('errors only').uncheck();
  await view.selectOption('select >> nth=1', 'startup');
  same('startup frames', await view.locator('.row').count(), 2);

  // On a small screen every label must also be complete. A violation must have the same name and
  // the same count everywhere.
  const small = await open({ viewport: { width: 1280, height: 800 } });
  const counts = (await small.locator('select >> nth=0').locator('option').allInnerTexts())
    .map((text) => Number(/, (\d+) violations?$/.exec(text)?.[1] ?? 0));
  has('the sum', await small.locator('header p').innerText(), `${counts.reduce((a, b) => a + b)} violations`);
  for (const one of counts.keys()) {
    await small.selectOption('select >> nth=0', String(one));
    same('labels that are cut off', await small.locator('.row .says').evaluateAll((labels) => labels
      .filter((one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight)
      .map((one) => one.textContent)), []);
  }
  await shoot(small, 'small');
}

async function rping(view) {
  await frame(view, 6);
  has('joined', await view.locator('.row.joined').innerText(), 'its request');
  await view.hover('.fields li button:has-text("Payload")');
  has('the payload', await told(view), 'octets 16 to 1451');
  await view.focus('#rows');
  await view.keyboard.press('r');
  has('the request', await heading(view), 'RDMA Read Request');
  has('memory', await view.locator('.memory .now').first().innerText(), 'requests 3000 octets');
}

async function many(view) {
  const rows = await view.locator('.row').count();
  if (rows > MOST_ROWS) problems.push(`${rows} rows are in the document`);
  await view.focus('#rows');
  await view.keyboard.press('End');
  has('the last', await heading(view), 'still open when the capture ends');
  await view.keyboard.press('ArrowUp');
  has('the last frame', await heading(view), '10002 · Send #10000');
  const chosen = view.locator('.row.selected');
  same('of so many', [await chosen.getAttribute('aria-posinset'), await chosen.getAttribute('aria-setsize')], ['10002', '10003']);
  for (let i = 0; i < 50; i += 1) await view.keyboard.press('PageUp');
  has('stepped', await heading(view), '9502 · ');
  const behind = await view.locator('.row').count();
  if (behind > MOST_ROWS) problems.push(`${behind} rows are in the document`);
  has('text of the wire', (await view.locator('.line .text').allInnerTexts()).join(''), '</script><img src=x');
  same('elements of the wire', await view.locator('img').count(), 0);
}

await finish(`${kind}:`, async () => {
  const desk = await open({ viewport: { width: 1500, height: 950 }, colorScheme: 'light' });
  await { demo, errors, rping, many }[kind](desk);
  note('light', await unreadable(desk));
  note('wide', await misplaced(desk));
  await desk.emulateMedia({ colorScheme: 'dark' });
  note('dark', await unreadable(desk));
  await shoot(desk, 'dark');
  await desk.click('button:has-text("Colours")');
  same('chosen light', await desk.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
  if (kind === 'demo') {
    await desk.emulateMedia({ media: 'print', colorScheme: 'dark' });
    note('paper', await unreadable(desk));
    same('paper', await desk.evaluate(() => getComputedStyle(document.body).backgroundColor), 'rgb(255, 255, 255)');
    await desk.setViewportSize({ width: PAPER, height: 900 });
    await desk.waitForFunction(() => document.querySelectorAll('.row').length === 12);
    const [diagram, message] = await desk.evaluate(() => [
      [...document.querySelectorAll('.row')].pop().getBoundingClientRect().bottom,
      document.querySelector('.message').getBoundingClientRect().top]);
    if (message < diagram) problems.push(`paper: the message at ${message} covers the diagram that ends at ${diagram}`);
    await desk.screenshot({ path: kept(`${kind}-paper.png`), fullPage: true });
    same('rows on paper', await desk.locator('.row').count(), 12);
    await desk.pdf({ path: kept(`${kind}.pdf`), format: 'A4', printBackground: true });
  }
  const phone = await open({ viewport: { width: 400, height: 800 }, colorScheme: 'dark' });
  await frame(phone, 5);
  note('phone', await misplaced(phone));
  note('phone', await unreadable(phone));
  await phone.screenshot({ path: kept(`${kind}-phone.png`), fullPage: true });
});
