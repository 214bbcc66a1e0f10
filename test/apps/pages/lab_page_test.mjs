// SPDX-License-Identifier: Apache-2.0
// Takes the whole tour of iwarp lab in headless Chromium. Steps forwards and back, selects fields,
// causes each fault, saves the session and replays it. The page must fetch nothing and log nothing
// to the console. Leaves screenshots and the saved files in a folder.
import { pathToFileURL } from 'node:url';
import { misplaced, unreadable } from './page_checks.mjs';
import {
  finish, has, heading, kept, litOctets, note, open, page, problems, range, same, told,
} from './page_session.mjs';

const shoot = (view, name) => view.screenshot({ path: kept(`lab-${name}.png`) });
const due = (view) => view.locator('.due').innerText();
const fact = async (view, end, name) => {
  const place = view.locator(`[data-end=${end}] [data-fact=${name}]`);
  return (await place.count()) === 0 ? 'none' : place.innerText();
};
const memory = (view, end, name) => view.locator(`[data-end=${end}] [data-memory=${name}] pre`).innerText();
const log = async (view) => (await view.locator('.log ol').allInnerTexts()).join('\n');
const script = (view) => view.evaluate(() => window.location.hash);
const next = (view) => view.click('[data-next]');
const forward = (view, step) => view.click(`[data-forward=${step}]`);
const back = (view, step) => view.click(`[data-back=${step}]`);
async function run(view) {
  while (await view.locator('[data-forward=operation]').isEnabled()) await forward(view, 'operation');
}
const PLACED = 'RDMA places octets where the sen';

async function exchange(view) {
  // The page opens on the first stop of the tour.
  has('the way into the tour', await view.locator('[data-next]').innerText(), 'Begin');
  has('the gap in memory', await memory(view, 'far', 'window'), '224 octets, all 0');
  same('idle', await fact(view, 'near', 'qp'), 'Idle');
  await next(view);
  has('the Request', await heading(view), '1 · MPA Request');
  has('in flight', await view.locator('.row.selected').innerText(), 'in flight');
  same('its key', await litOctets(view), range(0, 16));
  await next(view);
  same('connected', [await fact(view, 'near', 'qp'), await fact(view, 'far', 'qp')], ['RTS', 'RTS']);
  await next(view);
  await next(view);
  same('a Receive was used up', await fact(view, 'far', 'receives'), '3');
  await next(view);
  has('the advert', await heading(view), 'Send #2, 16 octets');
  await next(view);
  has('told', await log(view), 'Receive, request 0: success, 16 octets');
  await shoot(view, '1-stag-exchange');
}

async function write(view) {
  await next(view);
  same('tagged', await litOctets(view), range(4, 4));
  await next(view);
  has('all but one', await due(view), '1 of 84 octets from initiator');
  same('octets ahead', await view.locator('.octet.ahead').count(), 1);
  const before = await memory(view, 'far', 'window');
  if (before.includes(PLACED)) problems.push('placed before the CRC was seen');
  await shoot(view, '2-write');
  // Steps forwards and back, using each kind of step.
  await forward(view, 'octet');
  has('placed', await memory(view, 'far', 'window'), PLACED);
  await back(view, 'octet');
  if ((await memory(view, 'far', 'window')).includes(PLACED)) problems.push('it was not taken back');
  await forward(view, 'segment');
  has('placed again', await memory(view, 'far', 'window'), PLACED);
  await back(view, 'segment');
  has('the whole segment', await due(view), '84 of 84 octets');
  await back(view, 'operation');
  same('not posted', await due(view), 'Nothing is in flight.');
  await forward(view, 'operation');
  has('placed at last', await memory(view, 'far', 'window'), PLACED);
  await view.keyboard.press('O');
  await view.keyboard.press('o');
  has('by keys', await memory(view, 'far', 'window'), PLACED);
  // Selects a field, first in the grid and then in the list.
  await view.hover('.octet[data-at="10"]');
  same('the octets of TO', await litOctets(view), range(8, 8));
  has('TO', await told(view), 'octets 8 to 15');
  await view.hover('.fields li button:has-text("CRC")');
  same('the octets of the CRC', await litOctets(view), range(80, 4));
  await next(view);
  has('only the initiator is told', await log(view), 'RDMA Write, request 5: success');
}

async function read(view) {
  await next(view);
  has('a request', await heading(view), 'RDMA Read Request');
  has('the source', await told(view), 'Source');
  await next(view);
  has('a response', await heading(view), 'RDMA Read Response');
  await shoot(view, '3-read');
  await next(view);
  has('completed', await log(view), 'RDMA Read, request 5: success, 64 octets');
  // The tour has opened the view of the memory.
  await view.locator('[data-end=near] [data-memory=sink] pre div').first().waitFor();  // the lines exist once the view is open
  has('in the sink', await memory(view, 'near', 'sink'), "The responder's window.");
}

async function invalidate(view) {
  await next(view);
  same('the STag in the header', await litOctets(view), range(4, 4));
  await next(view);
  has('the window', await view.locator('[data-end=far] [data-memory=window] summary').innerText(), 'invalid');
  has('said', await log(view), 'was invalidated');
  await shoot(view, '4-invalidate');
}

async function errors(view) {
  await next(view);
  await next(view);
  same('bounds', await fact(view, 'far', 'terminate-sent'), '1/1/01 base or bounds violation');
  await shoot(view, '5-protection');
  await next(view);
  same('both gave up', [await fact(view, 'near', 'qp'), await fact(view, 'far', 'qp')], ['Error', 'Error']);
  await next(view);
  has('damaged', await view.locator('.violations').innerText(), 'CRC');
  has('the field', await told(view), 'CRC');
  await shoot(view, '6-crc');
  await next(view);
  has('MPA', await fact(view, 'far', 'terminate-sent'), '2/0/02');
  await next(view);
  has('received', await fact(view, 'near', 'terminate-received'), '2/0/02');
}

async function markers(view) {
  await next(view);
  has('a marker', await told(view), 'FPDUPTR');
  await view.locator('.octet.layer-marker[data-at]').first().waitFor()  // the list must scroll to the marker
    .catch(() => problems.push('no marker is in sight'));
  await shoot(view, '7-markers');
  await next(view);
  has('placed', await memory(view, 'far', 'window'), PLACED);
  await next(view);
  same('the end of the tour', await view.locator('[data-next]').isDisabled(), true);
}

// Faults belong to the link, and all other actions to the initiator.
const NEAR = '[data-end=near]';
const act = (view, verb) => view.click(['flip', 'cut', 'wait'].includes(verb) ? `[data-act=${verb}]` : `${NEAR} [data-act=${verb}]`);

/** Begins a session with these settings, and connects; the initiator sends first. */
async function begin(view, settings = {}) {
  await view.click('summary:has-text("New session")');
  for (const [name, value] of Object.entries(settings)) await view.selectOption(`select[name=${name}]`, value);
  await view.click('button:has-text("Begin a session")');
  await view.fill(`${NEAR} input[name=length]`, '64');
  await view.selectOption(`${NEAR} select[name=target]`, '');
  await act(view, 'connect');
  await run(view);
}

async function faults(view) {
  const wanted = { 'write stag': '1/1/00', 'write bounds': '1/1/01', 'write rights': '1/1/02',
    'read stag': '0/1/00', 'read bounds': '0/1/01', 'read rights': '0/1/02' };
  for (const [what, code] of Object.entries(wanted)) {
    const [verb, target] = what.split(' ');
    await begin(view, { receives: '4' });
    await view.selectOption(`${NEAR} select[name=target]`, target);
    await act(view, verb);
    await run(view);
    has(what, await fact(view, 'far', 'terminate-sent'), code);
    has(what, await fact(view, 'near', 'terminate-received'), code);
  }
  await begin(view, { receives: '0' });
  await act(view, 'send');
  await run(view);
  has('no Receive', await fact(view, 'far', 'terminate-sent'), '1/2/02');
  // Flips one bit of a selected octet.
  for (const crc of ['both', 'none']) {
    await begin(view, { receives: '4', crc });
    await act(view, 'send');
    await run(view);
    await act(view, 'write');
    same('nothing to flip yet', await view.locator('[data-act=flip]').isDisabled(), true);
    await view.click('.octet[data-at="20"]');
    await view.selectOption('select[name=bit]', '2');
    await act(view, 'flip');
    same('the damaged octet', await view.locator('.octet.damaged').evaluateAll((cells) =>
      cells.flatMap((cell) => cell.dataset.at ?? [])), ['20']);
    has('what it was', await view.locator('.octet.damaged[data-at]').getAttribute('title'), 'the sender sent 20');
    await run(view);
    has(`a flipped bit, CRC ${crc}`, await fact(view, 'far', 'terminate-sent'), crc === 'both' ? '2/0/02' : 'none');
    has(`in memory, CRC ${crc}`, await memory(view, 'far', 'window'), crc === 'both' ? '····' : 'RDMA');
  }
  has('damage goes unnoticed', await memory(view, 'far', 'window'), 'RDMAplaces'.slice(0, 4));
  // A first frame that is damaged: both panes show the same state, and the log says why no Terminate was sent.
  await begin(view, { crc: 'both' });
  await act(view, 'send');
  await view.click('.octet[data-at="30"]');
  await act(view, 'flip');
  await run(view);
  const states = await view.locator('.states tr:last-child td b').allInnerTexts();
  same('the states', states, [await fact(view, 'near', 'qp'), await fact(view, 'far', 'qp')]);
  same('the states after a damaged frame', states, ['Idle', 'Error']);
  has('no Terminate', await log(view), 'no Terminate was sent, because a responder must not send before');
  await act(view, 'send');
  has('a post after the end', await log(view), 'the request waits for a new connection');
  await shoot(view, 'first-damaged');
  await begin(view, { crc: 'both' });
  await act(view, 'write');
  await forward(view, 'octet');
  await act(view, 'cut');
  has('cut', await due(view), 'The link is cut.');
  has('lost', await view.locator('.row.selected').innerText(), 'lost after octet 1');
  same('both noticed', [await fact(view, 'near', 'qp'), await fact(view, 'far', 'qp')], ['Error', 'Error']);
  await shoot(view, 'cut');
  await act(view, 'tell');
  same('no second connection', await view.locator(`${NEAR} [data-act=connect]`).count(), 0);
}

async function settings(view) {
  await begin(view, { revision: '1', markers: 'b', ulpdu: '128' });
  has('revision 1', await view.locator('.row').first().innerText(), 'MPA Request rev 1');
  const before = await script(view);
  await view.fill(`${NEAR} input[name=length]`, '99999');
  await act(view, 'write');
  has('too much', await view.locator('.trouble').innerText(), 'the length exceeds the local buffer of 512 octets');
  same('nothing was posted', await script(view), before);
  await view.fill(`${NEAR} input[name=length]`, '300');
  await act(view, 'write');
  await run(view);
  same('segments', (await view.locator('.row .says').allInnerTexts()).filter((text) => text.includes('RDMA Write')).length, 3);
  await view.click('summary:has-text("New session")');
  await view.click('button:has-text("Begin a session")');
  await view.fill(`${NEAR} input[name=length]`, '64');
  await act(view, 'write');
  has('a Write before Connect', await due(view), 'Requests that wait for the connection: 1.');
  await begin(view, { revision: '2', markers: 'none', ulpdu: '0', rtr: 'read' });
  has('an RTR', await view.locator('.rows').innerText(), 'RDMA Read Request');
}

async function save(view) {
  await begin(view, { rtr: 'none' });
  await act(view, 'send');
  await run(view);
  await act(view, 'write');
  await forward(view, 'octet');
  for (const [what, name] of [['pcap', 'lab.pcap'], ['page', 'lab-session.html']]) {
    const [download] = await Promise.all([view.waitForEvent('download'), view.click(`[data-save=${what}]`)]);
    same('its name', download.suggestedFilename(), name);
    await download.saveAs(kept(name));
  }
  await view.click('[data-save=link]');
  const link = await view.locator('.save output a').getAttribute('href');
  const other = await open({ viewport: { width: 1600, height: 950 } }, { url: link });
  same('replayed', await script(other), await script(view));
  same('its log', await log(other), await log(view));
  same('its place', await due(other), await due(view));
  await other.close();
  const saved = kept('lab-session.html');
  const explained = await open({ viewport: { width: 1400, height: 900 } }, { url: pathToFileURL(saved).href, ready: '.row' });
  same('rows of the saved page', await explained.locator('.row').count(), 5);
  await explained.close();
}

/** Runs in the browser. Returns whether the element is in view: at least `most` pixels of its height, or all of it,
    and no other element covers them. */
const isInView = ({ selector, most }) => {
  const found = document.querySelector(selector);
  if (!found) return false;
  const box = found.getBoundingClientRect();
  let [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, window.innerHeight)];
  for (let over = found.parentElement; over; over = over.parentElement) {
    if (getComputedStyle(over).overflowY === 'visible') continue;
    const frame = over.getBoundingClientRect();
    [top, bottom] = [Math.max(top, frame.top), Math.min(bottom, frame.bottom)];
  }
  if (box.height === 0 || bottom - top < Math.min(box.height, most) - 1) return false;
  const hit = document.elementFromPoint(box.left + Math.min(box.width, 40) / 2, top + Math.min(bottom - top, most) / 2);
  return hit !== null && (found.contains(hit) || hit.contains(found));
};

/** Takes the tour on a screen of this size: the parts that a step names must be in view next to its text. With
    `oneByOne`, on a small screen, each part must be in view after its button was pressed. */
async function parts(width, height, oneByOne) {
  const view = await open({ viewport: { width, height }, colorScheme: 'light' });
  const where = async () => `${width}x${height}, ${await view.locator('.beat .where').innerText()}`;
  const inView = async (selector) => {
    for (const end = Date.now() + 20000; Date.now() < end; await view.waitForTimeout(50)) {
      if (await view.evaluate(isInView, { selector, most: 100 })) return;
    }
    problems.push(`${await where()}: ${selector} is out of view`);
  };
  await view.click('[data-stop="0"]');
  for (let beat = 0; ; beat += 1) {
    for (const button of await view.locator('[data-part]').all()) {
      if (oneByOne) await button.click();
      const part = await button.getAttribute('data-part');
      await inView(part);
      // On a small screen, the list of fields is far below the octets.
      if (!oneByOne && part.includes('.lit')) await inView('.fields .lit');
      await inView('.beat .says');
    }
    note(await where(), await misplaced(view));
    if (width < 1400 && [2, 6, 9, 15].includes(beat)) await shoot(view, `${width}-${beat}`);
    if (await view.locator('[data-next]').isDisabled()) break;
    await view.locator('[data-next]').click();
  }
  await view.close();
}

async function hostile() {
  for (const words of ['<img src=x onerror=alert(1)>', 'write.a.9.9.moon', '1+'.repeat(140000), '%']) {
    const view = await open({ viewport: { width: 1200, height: 800 } }, { url: `${page}#${words}` });
    same('refused', await view.locator('.trouble').count(), 1);
    same('elements of the link', await view.locator('img').count(), 0);
    await view.close();
  }
}

await finish('lab:', async () => {
  const desk = await open({ viewport: { width: 1600, height: 950 }, colorScheme: 'light', acceptDownloads: true });
  for (const stop of [exchange, write, read, invalidate, errors, markers]) await stop(desk);
  note('light', await unreadable(desk));
  note('wide', await misplaced(desk));
  await desk.emulateMedia({ colorScheme: 'dark' });
  note('dark', await unreadable(desk));
  await shoot(desk, 'dark');
  await desk.emulateMedia({ colorScheme: 'light' });
  for (const part of [faults, settings, save, hostile]) await part(desk);
  await parts(1280, 800, false);
  await parts(1366, 768, false);
  await parts(400, 800, true);
  const phone = await open({ viewport: { width: 400, height: 800 }, colorScheme: 'dark' });
  await phone.click('[data-stop="1"]');
  note('phone', await misplaced(phone));
  note('phone', await unreadable(phone));
  await phone.screenshot({ path: kept('lab-phone.png'), fullPage: true });
});
