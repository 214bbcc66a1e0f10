// SPDX-License-Identifier: Apache-2.0
// Fills the page with headings and tables. Each chart gets a drawing, a sentence that says what it shows, and its
// numbers as a table. The charts are redrawn when the width of the page changes.
'use strict';

const number = (value) => {
  const text = Number(value).toPrecision(3);
  return text.includes('e') ? String(Number(text)) : text.replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
};
const octets = (value) => {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let unit = 0;
  for (; value >= 1024 && unit < 3; unit += 1) value /= 1024;
  return `${number(value)} ${units[unit]}`;
};
const percent = (share) => `${Math.round(100 * share)} %`;
const unique = (rows, field) => [...new Set(rows.map((row) => row[field]))];
const last = (rows) => rows[rows.length - 1];

/** Makes a table with a row for each value of `down` and a column for each value of `across`. */
function pivot(rows, down, across, value, label, name) {
  const columns = unique(rows, across);
  const lines = new Map(unique(rows, down).map((key) => [key, new Map()]));
  for (const row of rows) lines.get(row[down]).set(row[across], row[value]);
  return { head: [name, ...columns], rows: [...lines].map(([key, line]) =>
    [label(key), ...columns.map((c) => [line.has(c) ? number(line.get(c)) : '-', 'number'])]) };
}

/** Returns only the rows whose size is a power of two: one row in three. */
const doubled = (rows) => rows.filter((row) => Number.isInteger(Math.log2(row.size)));
const total = (rows, mode, field) => rows.filter((row) => row.mode === mode)
  .reduce((sum, row) => sum + row[field], 0);
const list = (rows, each) => rows.map(each).join('; ');

// For each chart: a function that returns a sentence about the chart and the numbers in the chart.
const texts = {
  bars: () => [`Stacked bars, microseconds of both hosts per message: ${list(unique(data.bars, 'mode'),
    (mode) => `${mode} ${number(total(data.bars, mode, 'us'))}`)}.`,
  pivot(data.bars, 'component', 'mode', 'us', String, 'us')],
  size: () => [`Lines falling with size, nanoseconds per octet. At the smallest and the largest size: ${
    list(unique(data.by_size, 'mode'), (mode) => {
      const rows = data.by_size.filter((row) => row.mode === mode);
      return `${mode} ${number(rows[0].ns)} and ${number(last(rows).ns)}`;
    })}.`,
  pivot(doubled(data.by_size), 'size', 'mode', 'ns', octets, 'ns per octet')],
  rate: () => [`Straight lines, processors of the busier host. At 100 Gb/s: ${
    list(data.by_rate.filter((row) => row.rate === 100), (row) => `${row.mode} ${number(row.cores)}`)}.`,
  pivot(data.by_rate, 'rate', 'mode', 'cores', (rate) => `${rate} Gb/s`, 'processors')],
  share: () => {
    const { model, measured } = data.copy_share;
    const most = model.reduce((best, row) => (row.share > best.share ? row : best));
    return [`A line of copying's share against size, from ${percent(model[0].share)} at ${
      octets(model[0].size)} to at most ${percent(most.share)} at ${octets(most.size)}; ${
      measured.length ? `${measured.length} measured ranges` : 'nothing measured here'}.`,
    { head: ['size', 'model', 'band', 'measured'], rows: doubled(model).map((row) => {
      const here = measured.find((m) => m.size === row.size);
      return [octets(row.size), percent(row.share), `${percent(row.low)} to ${percent(row.high)}`,
        here ? `${percent(here.low)} to ${percent(here.high)}` : '-'];
    }) }];
  },
  reuse: () => [`Lines falling with reuse: the size from which an RNIC is cheaper. ${
    list(unique(data.by_reuse, 'host'), (host) => {
      const rows = data.by_reuse.filter((row) => row.host === host);
      return `${host}: ${octets(rows[0].size)} at ${number(rows[0].reuse)}, ${octets(last(rows).size)} at ${
        number(last(rows).reuse)}`;
    })}.`,
  pivot(data.by_reuse.filter((row) => Math.abs(Math.log2(row.reuse) - Math.round(Math.log2(row.reuse))) < 1e-6)
    .map((row) => ({ ...row, reuse: Math.round(row.reuse) })),
  'reuse', 'host', 'size', (u) => `${u}`, 'transfers per registration; sizes in octets')],
  laws: () => [`A map of the gain in throughput over gamma and alpha. This host: ${
    list(data.laws.here, (row) => `${row.mode} at gamma ${number(row.gamma)}, alpha ${number(row.alpha)}, gain ${
      Math.round(row.gain)} percent`)}.`,
  { head: ['this host', 'gamma', 'alpha', 'sigma', 'beta', 'gain, %'], rows: data.laws.here.map((row) =>
    [row.mode, ...[row.gamma, row.alpha, row.sigma, row.beta].map((v) => [number(v), 'number']),
      [row.gain.toFixed(0), 'number']]) }],
  waterfall: () => [`Steps from ${list(data.waterfall.filter((row) => row.kind === 'total'),
    (row) => `${row.step} ${number(row.to)} microseconds`)}.`,
  { head: ['step', 'us', 'then'], rows: data.waterfall.map((row) => [row.step,
    [row.kind === 'total' ? '' : number(row.to - row.from), 'number'], [number(row.to), 'number']]) }],
  eras: () => {
    const sums = unique(data.eras, 'host').flatMap((host) => unique(data.eras, 'mode').map((mode) => ({
      host, mode, ghz: total(data.eras.filter((row) => row.host === host), mode, 'ghz') })));
    return [`Stacked bars for each era, gigahertz per gigabit per second: ${
      list(unique(sums, 'host'), (host) => `${host}: ${sums.filter((s) => s.host === host)
        .map((s) => `${s.mode} ${number(s.ghz)}`).join(', ')}`)}.`,
    pivot(sums, 'host', 'mode', 'ghz', String, 'GHz per Gb/s')];
  },
  file: () => [`Bars for a file of ${octets(data.file)}: ${list(data.file_transfer, (row) =>
    `${row.mode} ${number(row.tx)} and ${number(row.rx)} seconds of processors, ${number(row.seconds)} elapsed`)}.`,
  { head: ['', 'sender, s', 'receiver, s', 'elapsed, s', 'bounded by'], rows: data.file_transfer.map((row) =>
    [row.mode, [number(row.tx), 'number'], [number(row.rx), 'number'], [number(row.seconds), 'number'],
      row.limit]) }],
};

/** Fills a table. Each cell is a text, or [text, class]. Sets the roles explicitly, because narrow pages lay out
 * tables as blocks. */
function fill(table, head, rows, title = '') {
  const add = (parent, tag, role) => {
    const element = parent.appendChild(document.createElement(tag));
    element.setAttribute('role', role);
    return element;
  };
  table.setAttribute('role', 'table');
  if (title) table.appendChild(document.createElement('caption')).textContent = title;
  const top = add(add(table, 'thead', 'rowgroup'), 'tr', 'row');
  for (const text of head) {
    const th = add(top, 'th', 'columnheader');
    th.scope = 'col';
    th.textContent = text;
  }
  const body = add(table, 'tbody', 'rowgroup');
  for (const row of rows) {
    const tr = add(body, 'tr', 'row');
    row.forEach((cell, i) => {
      const [text, kind] = Array.isArray(cell) ? cell : [cell, ''];
      const td = add(tr, 'td', 'cell');
      td.textContent = text;
      td.className = kind;
      td.dataset.label = head[i];
      if (row.length === 1) td.colSpan = head.length;
    });
  }
}

const byId = (id) => document.getElementById(id);

function judged(check) {
  if (check.holds) return [check.at_most ? 'kept' : 'agrees', 'good'];
  if (check.at_most) return ['broken', 'miss'];
  if (check.near) return ['band too wide', 'miss'];
  return [check.narrow ? 'missed' : 'missed, band too wide', 'miss'];
}

function predictions() {
  const { criterion, tally, rows } = data.published;
  const of = (t) => `${t.hold} of ${t.figures}`;
  byId('tally').textContent = `Predictions: ${of(tally.prediction)} agree. A prediction is by a preset, of whose ` +
    `values none comes from the figure. It agrees when it is within ${percent(criterion.miss)} of the published ` +
    `value and its band, which holds 90 % of what the uncertainties of the preset allow, is at most a factor of ` +
    `${criterion.band} wide. Limits that are published instead of values: ${of(tally.limit)} kept.`;
  fill(byId('predictions'), ['', 'predicted', 'published', 'model', 'miss', 'band', 'verdict', 'by', 'mark', 'source'],
    rows.filter((row) => row.use === 'prediction').flatMap((row) => row.checks.map((check, i) => [
      `${row.number}`, check.what, [`${check.at_most ? 'below ' : ''}${number(check.published)} ${check.unit}`, 'number'],
      [`${number(check.model)} ${check.unit}`, 'number'],
      [check.at_most ? '' : `${check.miss > 0 ? '+' : ''}${Math.round(100 * check.miss)} %`, 'number'],
      [`${number(check.band_low)} to ${number(check.band_high)}`, 'number'], judged(check), row.preset, row.mark,
      i === 0 ? `${row.source}${row.reason ? `; ${row.reason}` : ''}` : 'as above'])));
  fill(byId('published'), ['', 'figure', 'used as', 'mark', 'model', 'bounds', ''],
    rows.filter((row) => row.use !== 'prediction').flatMap((row) => row.checks.map((check, i) => [
      i === 0 ? `${row.number}` : '', i === 0 ? `${row.figure} (${row.source})` : '', i === 0 ? row.use : '',
      i === 0 ? row.mark : '', `${check.what}: ${number(check.model)} ${check.unit}`,
      `${check.low} to ${check.high}`, check.holds ? 'holds' : ['does not hold', 'miss']])));
}

function tables() {
  const overs = unique(data.crossovers, 'over');
  fill(byId('crossovers'), ['an RNIC is better in', ...overs.map((over) => `over ${over}`)],
    unique(data.crossovers, 'what').map((what) => [what, ...overs.map((over) =>
      data.crossovers.find((c) => c.over === over && c.what === what).text)]));
  fill(byId('crc'), ['CRC', 'markers', 'us, both hosts', 'of that checksum', 'message octets on the link'],
    data.crc_and_markers.map((row) => [row.crc, row.markers ? 'on' : 'off', [number(row.us), 'number'],
      [number(row.checksum_us), 'number'], [`${(100 * row.efficiency).toFixed(1)} %`, 'number']]));
  predictions();
  fill(byId('parameters'), ['', 'meaning', 'value', 'unit', '+-', 'mark', 'source'],
    data.parameters.map((p) => [p.key, p.meaning, [`${number(p.value)}`, 'number'], p.unit,
      [p.uncertainty ? percent(p.uncertainty) : '', 'number'], p.mark, p.source]));
}

function frames() {
  for (const id of Object.keys(specs)) {
    const figure = byId(id);
    const [sentence, numbers] = texts[id]();
    const caption = figure.querySelector('figcaption');
    caption.id = `${id}-caption`;
    figure.setAttribute('aria-labelledby', caption.id);
    const place = figure.appendChild(document.createElement('div'));
    place.className = 'chart';
    place.dataset.label = sentence;
    const details = figure.appendChild(document.createElement('details'));
    details.appendChild(document.createElement('summary')).textContent = 'The numbers';
    fill(details.appendChild(document.createElement('table')), numbers.head, numbers.rows, sentence);
  }
}

async function draw() {
  for (const [id, spec] of Object.entries(specs)) {
    const place = byId(id).querySelector('.chart');
    try {
      place.replaceChildren();
      const width = Math.min(860, place.clientWidth);
      const view = new vega.View(vega.parse(spec(width)), { renderer: 'svg', container: place });
      await view.runAsync();
      const svg = place.querySelector('svg');
      for (const element of [place, svg.parentElement]) {
        for (const name of ['role', 'aria-label', 'aria-roledescription', 'tabindex']) element.removeAttribute(name);
      }
      svg.setAttribute('role', 'img');
      svg.setAttribute('aria-label', place.dataset.label);
    } catch (error) {
      place.classList.add('failed');
      place.textContent = `This chart cannot be drawn: ${error.message}. Its numbers are below.`;
      console.error(id, error);
    }
  }
}

function heads() {
  const machine = Object.entries(data.machine).map(([name, text]) => `${name} ${text}`).join(', ');
  byId('host').textContent = [data.host, data.note, machine].filter(Boolean).join(' · ');
  byId('workload').textContent = `One message: ${data.workload}.`;
  for (const verdict of data.verdicts) {
    const item = byId('verdicts').appendChild(document.createElement('li'));
    item.textContent = `${verdict.mode}: ${verdict.text}.`;
  }
}

async function start() {
  heads();
  tables();
  frames();
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
