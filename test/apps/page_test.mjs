// SPDX-License-Identifier: Apache-2.0
// Opens a report in headless Chromium: every picture must be drawn, nothing may be fetched, and the
// console must stay quiet. Saves a screenshot of each picture.
// Usage: node page_test.mjs PLAYWRIGHT_MODULE CHROMIUM PAGE.html SCREENSHOT_DIR
import { pathToFileURL } from 'node:url';
import path from 'node:path';

const [modulePath, executablePath, page, screenshots] = process.argv.slice(2);
const playwright = (await import(pathToFileURL(modulePath))).default;

const PICTURES = ['bars', 'size', 'rate', 'share', 'reuse', 'laws', 'waterfall', 'eras', 'file'];
const LEAST_SHAPES = 12; // axes alone have more

const problems = [];
const browser = await playwright.chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const view = await browser.newPage({ viewport: { width: 1100, height: 900 } });
  view.setDefaultTimeout(120000); // beside other tests it is slow
  view.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(`console: ${message.text()}`);
  });
  view.on('pageerror', (error) => problems.push(`page: ${error.message}`));
  view.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith('data:') && url !== pathToFileURL(page).href) problems.push(`fetches ${url}`);
  });
  await view.goto(pathToFileURL(page).href);
  await view.waitForSelector('body[data-ready="true"]');

  for (const id of PICTURES) {
    const figure = view.locator(`figure#${id}`);
    const found = await figure.evaluate((element) => {
      const svg = element.querySelector('svg');
      if (!svg) return { shapes: 0, width: 0, bad: false };
      const shapes = svg.querySelectorAll('.mark-rect path, .mark-line path, .mark-area path, ' +
        '.mark-symbol path, .mark-rule line, .mark-text text');
      const bad = /NaN|Infinity|undefined/.test(svg.outerHTML);
      return { shapes: shapes.length, width: svg.getBoundingClientRect().width, bad };
    });
    if (found.shapes < LEAST_SHAPES || found.width < 300) {
      problems.push(`${id}: not drawn (${found.shapes} shapes, ${found.width} wide)`);
    }
    if (found.bad) problems.push(`${id}: has no number somewhere`);
    await figure.screenshot({ path: path.join(screenshots, `${id}.png`) });
  }
  for (const id of ['crossovers', 'crc', 'published', 'parameters']) {
    const rows = await view.locator(`table#${id} tr`).count();
    if (rows < 4) problems.push(`table ${id}: ${rows} rows`);
  }
  await view.screenshot({ path: path.join(screenshots, 'page.png'), fullPage: true });
} finally {
  await browser.close();
}
for (const problem of problems) console.log(problem);
console.log(`${PICTURES.length} pictures, ${problems.length} problems`);
process.exit(problems.length === 0 ? 0 : 1);
