// SPDX-License-Identifier: Apache-2.0
// Fills the page with the sentences, the charts and the tables. The charts are redrawn when the width of the page
// changes.
'use strict';

const number = (value) => String(Number(Number(value).toPrecision(3)));
const octets = (value) => {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  for (; value >= 1024 && unit < 3; unit += 1) value /= 1024;
  return `${number(value)} ${units[unit]}`;
};
const percent = (share) => `${Math.round(100 * share)} %`;
const range = ({ low, high }, text) => `${text(low)} to ${text(high)}`;
const last = (rows) => rows[rows.length - 1];
const list = (rows, each) => rows.map(each).join('; ');
const byId = (id) => document.getElementById(id);
/** Returns only the rows whose size is a power of two: one row in three. */
const doubled = (rows) => rows.filter((row) => Number.isInteger(Math.log2(row.size)));

// For each chart, what a screen reader says.
const labels = {
  time: () => `Stacked bars, microseconds of both hosts per message: ${list(data.ways,
    (way) => `${way.way} ${number(way.total_us)}`)}.`,
  flip: () => `Lines of processor time relative to kernel sockets. At the smallest and the largest size: ${
    list(unique(data.by_size, 'way'), (way) => {
      const rows = data.by_size.filter((row) => row.way === way);
      return `${way} ${number(rows[0].ratio)} and ${number(last(rows).ratio)}`;
    })}.`,
  reuse: () => `Lines falling with reuse: the size from which an RNIC is cheaper. ${
    list(unique(data.by_reuse, 'host'), (host) => {
      const rows = data.by_reuse.filter((row) => row.host === host);
      return `${host}: ${octets(rows[0].size)} at ${number(rows[0].reuse)}, ${octets(last(rows).size)} at ${
        number(last(rows).reuse)}`;
    })}.`,
  share: () => `A line of copying's share against size, at most ${
    percent(Math.max(...data.copy_share.model.map((row) => row.share)))}; ${
    data.copy_share.measured.length || 'no'} measured ranges.`,
};

/** Adds an element with a role, because narrow pages lay out tables as blocks. */
const add = (parent, tag, role, properties = {}) => {
  const element = document.createElement(tag);
  if (role) element.setAttribute('role', role);
  return parent.appendChild(Object.assign(element, properties));
};
/** Returns the cell of a number. */
const right = (text) => [text, 'number'];

/** Fills a table. Each cell is a text, or [text, class]. */
function fill(id, head, rows) {
  const table = byId(id);
  table.setAttribute('role', 'table');
  const top = add(add(table, 'thead', 'rowgroup'), 'tr', 'row');
  for (const text of head) add(top, 'th', 'columnheader', { scope: 'col', textContent: text });
  const body = add(table, 'tbody', 'rowgroup');
  for (const row of rows) {
    const tr = add(body, 'tr', 'row');
    row.forEach((cell, i) => {
      const [textContent, className = ''] = [cell].flat();
      add(tr, 'td', 'cell', { textContent, className }).dataset.label = head[i];
    });
  }
}

function ways() {
  const row = (name, text, kind = 'number') => [name, ...data.ways.map((way, i) =>
    [text(way) + (data.before.length && !/band|,/.test(name) ? ` (${text(data.before[i])})` : ''), kind])];
  const numbers = { sender: 'sender_us', receiver: 'receiver_us', 'Gb/s': 'gbps', 'one-way latency in us': 'latency_us',
    [`cores at ${number(data.rate)} Gb/s`]: 'cores',
    [`at ${number(data.load_gbps)} Gb/s: p99 latency in us`]: 'p99_us', 'share of the limiting resource': 'busy',
    'share of memory bandwidth': 'memory', 'cores with polling': 'polling_cores' };
  fill('ways', [data.before.length ? 'us (in parentheses: without the change)' : 'us', ...data.ways.map((way) => way.way)], [
    ...Object.keys(data.ways[0].us).map((component) => row(component, (way) => number(way.us[component]))),
    row('both hosts', (way) => number(way.total_us)),
    row('90 % band', (way) => `${number(way.low_us)} to ${number(way.high_us)}`),
    ...Object.entries(numbers).map(([name, field]) => row(name, (way) => (way[field] === null ? 'overloaded' : number(way[field])))),
    row('limited by', (way) => way.limit, 'words')]);
}

function published() {
  const { criterion, tally, rows } = data.published;
  const of = (t) => `${t.hold} of ${t.figures}`;
  byId('tally').textContent = `Predictions: ${of(tally.prediction)} agree. A prediction uses a preset that does not ` +
    `depend on the figure. It agrees if it is within ${percent(criterion.miss)} of the published value, and if the ` +
    `upper end of its 90 % band is at most ${criterion.band} times the lower end. Limits that are published instead of values: ${of(tally.limit)} kept. ` +
    `Cliffs, predicted within a factor of ${criterion.cliff}: ${of(tally.cliff)} agree.`;
  fill('published', ['', 'figure', 'used as', 'published', 'model', 'miss', 'range', 'verdict', 'by', 'mark', 'source'],
    rows.flatMap((row) => row.checks.map((check, i) => [
      `${row.number}`, check.what, row.use, right(`${check.at_most ? 'below ' : ''}${number(check.published)} ${check.unit}`),
      right(`${number(check.model)} ${check.unit}`),
      right(check.at_most ? '' : `${check.miss > 0 ? '+' : ''}${Math.round(100 * check.miss)} %`),
      right(range(check, number)), [check.verdict, check.holds ? 'good' : 'miss'],
      row.preset, row.mark, i === 0 ? `${row.source}${row.reason ? `; ${row.reason}` : ''}` : 'as above'])));
}

function tables() {
  ways();
  const overs = unique(data.crossovers, 'over');
  fill('crossovers', ['an RNIC is better in', ...overs.map((over) => `over ${over}`)],
    unique(data.crossovers, 'what').map((what) => [what, ...overs.map((over) =>
      data.crossovers.find((c) => c.over === over && c.what === what).text)]));
  const names = data.ways.map((way) => way.way);
  fill('sizes', ['ns per octet, both hosts', ...names],
    unique(doubled(data.by_size), 'size').map((size) => [octets(size), ...names.map((name) =>
      right(number(data.by_size.find((row) => row.way === name && row.size === size).ns)))]));
  fill('shares', ['size', 'model', 'band', 'measured'], doubled(data.copy_share.model).map((row) => {
    const here = data.copy_share.measured.find((m) => m.size === row.size);
    return [octets(row.size), percent(row.share), range(row, percent), here ? range(here, percent) : '-'];
  }));
  fill('crc', ['CRC', 'markers', 'us, both hosts', 'of that checksum', 'message octets on the link'],
    data.crc_and_markers.map((row) => [row.crc, row.markers ? 'on' : 'off', right(number(row.us)),
      right(number(row.checksum_us)), right(`${(100 * row.efficiency).toFixed(1)} %`)]));
  published();
  fill('parameters', ['', 'meaning', 'value', 'unit', '+-', 'mark', 'source'],
    data.parameters.map((p) => [p.key, p.meaning, right(`${p.value}`), p.unit,
      right(p.uncertainty ? percent(p.uncertainty) : ''), p.mark, p.source]));
}

function heads() {
  const machine = Object.entries(data.machine).map(([name, text]) => `${name} ${text}`).join(', ');
  byId('host').textContent = [data.host, data.note, `One message: ${data.workload}`,
    data.what_if && `What if ${data.what_if}`].filter(Boolean).join(' · ');
  byId('machine').textContent = machine && `Machine: ${machine}.`;
  for (const { about, text } of data.sentences) {
    add(byId('sentences'), 'dt', '', { textContent: about });
    add(byId('sentences'), 'dd', '', { textContent: text });
  }
  for (const id of Object.keys(specs)) {
    const caption = byId(id).querySelector('figcaption');
    caption.id = `${id}-caption`;
    byId(id).setAttribute('aria-labelledby', caption.id);
    caption.after(Object.assign(document.createElement('div'), { className: 'chart' }));
  }
}

async function draw() {
  for (const [id, spec] of Object.entries(specs)) {
    const place = byId(id).querySelector('.chart');
    try {
      place.replaceChildren();
      // A chart that is folded away has no width yet.
      const width = Math.min(860, (place.closest('details') ? document.querySelector('main') : place).clientWidth);
      const view = new vega.View(vega.parse(spec(width)), { renderer: 'svg', container: place });
      await view.runAsync();
      const svg = place.querySelector('svg');
      for (const element of [place, svg.parentElement]) {
        for (const name of ['role', 'aria-label', 'aria-roledescription', 'tabindex']) element.removeAttribute(name);
      }
      svg.setAttribute('role', 'img');
      svg.setAttribute('aria-label', labels[id]());
    } catch (error) {
      place.classList.add('failed');
      place.textContent = `This chart cannot be drawn: ${error.message}. The tables have its numbers.`;
      console.error(id, error);
    }
  }
}

async function start() {
  heads();
  tables();
  await draw();
  let drawn = document.body.clientWidth;
  let later = 0;
  window.addEventListener('resize', () => {
    clearTimeout(later);
    later = setTimeout(() => {
      // Do not redraw for printing: the width of the paper differs, but the drawing is scaled to it.
      if (matchMedia('print').matches || document.body.clientWidth === drawn) return;
      drawn = document.body.clientWidth;
      draw();
    }, 150);
  });
  document.body.dataset.ready = 'true';
}

start();
