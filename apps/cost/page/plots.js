// SPDX-License-Identifier: Apache-2.0
// Draws the report: each picture is a Vega specification filled with the numbers in the page. Axes,
// scales and legends are Vega's; nothing is loaded, and nothing is computed but units.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

const MODES = ['kernel sockets', 'software iWARP', 'TOE', 'RNIC', 'RNIC, cached', '1 GHz per Gb/s'];
const MODE_COLOURS = ['#4c78a8', '#f58518', '#54a24b', '#e45756', '#b279a2', '#888888'];
const COMPONENTS = ['copy', 'checksum', 'protocol', 'system call', 'interrupt', 'wake-up',
  'registration', 'post and poll'];
const COMPONENT_COLOURS = ['#e15759', '#f28e2b', '#4e79a7', '#76b7b2', '#edc948', '#b07aa1',
  '#9c755f', '#59a14f'];
const HOSTS = ['2003', '2007', '100g', 'this host'];
const HOST_COLOURS = ['#9c755f', '#4e79a7', '#e15759', '#59a14f'];
const SIZE_TICKS = [1, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];
const WIDTH = 640;
const HEIGHT = 330;

const sizeLabel = (value) => `${value} >= 1073741824 ? format(${value} / 1073741824, 'd') + ' GiB' : ` +
  `${value} >= 1048576 ? format(${value} / 1048576, 'd') + ' MiB' : ` +
  `${value} >= 1024 ? format(${value} / 1024, 'd') + ' KiB' : format(${value}, 'd') + ' B'`;

const frame = (spec) => ({
  $schema: 'https://vega.github.io/schema/vega/v5.json',
  width: WIDTH, height: HEIGHT, padding: 8, background: 'white',
  config: { axis: { labelFontSize: 11, titleFontSize: 12, gridColor: '#e8e8e8', titlePadding: 8 },
    legend: { labelFontSize: 11, titleFontSize: 11, symbolSize: 120 } },
  ...spec,
});

const ordinal = (name, domain, range) => ({ name, type: 'ordinal', domain, range });
const sizeAxis = (title, orient = 'bottom', scale = 'x') => ({
  orient, scale, title, grid: true, values: SIZE_TICKS,
  encode: { labels: { update: { text: { signal: sizeLabel('datum.value') } } } },
});

function present(names, colours, rows, field) {
  const used = new Set(rows.map((row) => row[field]));
  const keep = names.map((_, i) => i).filter((i) => used.has(names[i]));
  return [keep.map((i) => names[i]), keep.map((i) => colours[i])];
}

/** Lines with bands, one per value of `group`. */
function lines({ rows, x, y, group, names, colours, xAxis, yAxis, xType = 'log', yType = 'log',
  yDomain, extraData = [], extraMarks = [] }) {
  const [domain, range] = present(names, colours, rows, group);
  const banded = rows.length > 0 && 'low' in rows[0];
  const at = { x: { scale: 'x', field: x }, stroke: { scale: 'c', field: group } };
  const dash = { signal: `datum.${group} === '1 GHz per Gb/s' ? [6, 4] : [1, 0]` };
  return frame({
    data: [{ name: 't', values: rows }, ...extraData],
    scales: [
      { name: 'x', type: xType, domain: { data: 't', field: x }, range: 'width' },
      { name: 'y', type: yType, range: 'height', nice: true, zero: false,
        domain: yDomain || { data: 't', fields: banded ? ['low', 'high', y] : [y] } },
      ordinal('c', domain, range)],
    axes: [xAxis, { orient: 'left', scale: 'y', grid: true, ...yAxis }],
    legends: [{ stroke: 'c', symbolType: 'stroke', orient: 'right' }],
    marks: [{
      type: 'group', from: { facet: { name: 's', data: 't', groupby: group } },
      marks: [
        ...(banded ? [{ type: 'area', from: { data: 's' }, encode: { enter: {
          x: at.x, y: { scale: 'y', field: 'low' }, y2: { scale: 'y', field: 'high' },
          fill: { scale: 'c', field: group }, fillOpacity: { value: 0.13 } } } }] : []),
        { type: 'line', from: { data: 's' }, encode: { enter: {
          ...at, y: { scale: 'y', field: y }, strokeWidth: { value: 2.2 }, strokeDash: dash } } }],
    }, ...extraMarks],
  });
}

/** Bars of one category each, stacked by component. */
function stacked({ rows, category, value, title }) {
  const [domain, range] = present(COMPONENTS, COMPONENT_COLOURS,
    rows.filter((row) => row[value] > 0), 'component');
  return frame({
    height: 300,
    data: [{ name: 't', values: rows, transform: [
      { type: 'stack', groupby: [category], field: value, sort: { field: 'order' } }] },
    { name: 'totals', source: 't', transform: [
      { type: 'aggregate', groupby: [category], fields: [value], ops: ['sum'], as: ['sum'] }] }],
    scales: [
      { name: 'x', type: 'band', domain: { data: 't', field: category }, range: 'width', padding: 0.25 },
      { name: 'y', domain: { data: 't', field: 'y1' }, range: 'height', nice: true },
      ordinal('c', domain, range)],
    axes: [{ orient: 'bottom', scale: 'x' }, { orient: 'left', scale: 'y', title, grid: true }],
    legends: [{ fill: 'c', orient: 'right' }],
    marks: [
      { type: 'rect', from: { data: 't' }, encode: { enter: {
        x: { scale: 'x', field: category }, width: { scale: 'x', band: 1 },
        y: { scale: 'y', field: 'y0' }, y2: { scale: 'y', field: 'y1' },
        fill: { scale: 'c', field: 'component' } } } },
      { type: 'text', from: { data: 'totals' }, encode: { enter: {
        x: { scale: 'x', field: category, band: 0.5 }, y: { scale: 'y', field: 'sum', offset: -5 },
        align: { value: 'center' }, fontSize: { value: 11 },
        text: { signal: "format(datum.sum, '.3~r')" } } } }],
  });
}

const ordered = (rows) => rows.map((row) => ({ ...row, order: COMPONENTS.indexOf(row.component) }));

const crossoverRules = () => data.crossovers
  .filter((c) => c.size && c.what.startsWith('processor time, reg'))
  .map((c) => ({ size: c.size, text: c.what.replace('processor time, ', '') }));

const plots = {
  bars: () => stacked({ rows: ordered(data.bars), category: 'mode', value: 'us',
    title: 'us of processor time per message, both hosts' }),

  size: () => lines({ rows: data.by_size, x: 'size', y: 'ns', group: 'mode', names: MODES,
    colours: MODE_COLOURS, xAxis: sizeAxis('message size'),
    yAxis: { title: 'ns per octet, both hosts', format: '.3~r', tickCount: 6 },
    extraData: [{ name: 'cross', values: crossoverRules() }],
    extraMarks: [
      { type: 'rule', clip: true, from: { data: 'cross' }, encode: { enter: {
        x: { scale: 'x', field: 'size' }, y: { value: 0 }, y2: { signal: 'height' },
        stroke: { value: '#333' }, strokeDash: { value: [4, 4] } } } },
      { type: 'text', from: { data: 'cross' }, encode: { enter: {
        x: { scale: 'x', field: 'size', offset: { signal: 'datum.size > 65536 ? -5 : 5' } },
        align: { signal: "datum.size > 65536 ? 'right' : 'left'" }, y: { value: 12 },
        fontSize: { value: 11 },
        text: { signal: `'RNIC, ' + datum.text + ': from ' + format(datum.size / 1024, '.3~r') + ' KiB'` } } } }] }),

  rate: () => lines({ rows: data.by_rate, x: 'rate', y: 'cores', group: 'mode', names: MODES,
    colours: MODE_COLOURS,
    xAxis: { orient: 'bottom', scale: 'x', title: 'Gb/s', grid: true,
      values: [1, 2, 5, 10, 25, 50, 100, 200, 400], format: 'd' },
    yAxis: { title: 'processors, busier host', format: '.3~r', tickCount: 6 } }),

  share: () => frame({
    data: [{ name: 'model', values: data.copy_share.model },
      { name: 'dots', values: data.copy_share.measured },
      { name: 'claim', values: [{ low: 0.8, high: 0.85 }] }],
    scales: [
      { name: 'x', type: 'log', domain: { data: 'model', field: 'size' }, range: 'width' },
      { name: 'y', domain: [0, 1], range: 'height' },
      ordinal('c', ['model', 'measured here', 'the claim: 80 to 85 %'], ['#4c78a8', '#e45756', '#999'])],
    axes: [sizeAxis('message size'),
      { orient: 'left', scale: 'y', title: 'copying, share of processor time', format: '.0%', grid: true }],
    legends: [{ fill: 'c', orient: 'right' }],
    marks: [
      { type: 'rect', from: { data: 'claim' }, encode: { enter: { x: { value: 0 }, x2: { signal: 'width' },
        y: { scale: 'y', field: 'low' }, y2: { scale: 'y', field: 'high' }, fill: { value: '#999' },
        fillOpacity: { value: 0.4 } } } },
      { type: 'area', from: { data: 'model' }, encode: { enter: { x: { scale: 'x', field: 'size' },
        y: { scale: 'y', field: 'low' }, y2: { scale: 'y', field: 'high' }, fill: { value: '#4c78a8' },
        fillOpacity: { value: 0.15 } } } },
      { type: 'line', from: { data: 'model' }, encode: { enter: { x: { scale: 'x', field: 'size' },
        y: { scale: 'y', field: 'share' }, stroke: { value: '#4c78a8' }, strokeWidth: { value: 2.2 } } } },
      { type: 'rule', from: { data: 'dots' }, encode: { enter: { x: { scale: 'x', field: 'size' },
        y: { scale: 'y', field: 'low' }, y2: { scale: 'y', field: 'high' }, stroke: { value: '#e45756' },
        strokeWidth: { value: 2 } } } },
      ...['low', 'high'].map((field) => ({ type: 'symbol', from: { data: 'dots' }, encode: { enter: {
        x: { scale: 'x', field: 'size' }, y: { scale: 'y', field }, size: { value: 70 },
        fill: { value: '#e45756' }, stroke: { value: 'white' } } } }))],
  }),

  reuse: () => lines({ rows: data.by_reuse, x: 'reuse', y: 'size', group: 'host', names: HOSTS,
    colours: HOST_COLOURS,
    xAxis: { orient: 'bottom', scale: 'x', title: 'transfers per registration', grid: true,
      values: [1, 2, 4, 8, 16, 32, 64], format: 'd' },
    yAxis: { ...sizeAxis('RNIC cheaper from this size on', 'left', 'y') } }),

  laws: () => frame({
    height: 380,
    data: [{ name: 'cells', values: data.laws.cells }, { name: 'here', values: data.laws.here }],
    scales: [
      { name: 'x', type: 'log', domain: [0.05, 5], range: 'width' },
      { name: 'y', type: 'log', domain: [0.1, 10], range: 'height' },
      { name: 'c', type: 'linear', domain: [-100, 0, 300], range: ['#b2182b', '#f7f7f7', '#2166ac'],
        clamp: true }],
    axes: [
      { orient: 'bottom', scale: 'x', format: '.3~r', tickCount: 6,
        title: "gamma: the program's work over that of communication" },
      { orient: 'left', scale: 'y', format: '.3~r', tickCount: 6,
        title: 'alpha: how much slower the card is' }],
    legends: [{ fill: 'c', title: 'gain in throughput, %', orient: 'right', gradientLength: 200 }],
    marks: [
      { type: 'rect', clip: true, from: { data: 'cells' }, encode: { enter: {
        x: { scale: 'x', field: 'gamma' }, x2: { scale: 'x', field: 'gamma2' },
        y: { scale: 'y', field: 'alpha' }, y2: { scale: 'y', field: 'alpha2' },
        fill: { scale: 'c', field: 'gain' } } } },
      { type: 'symbol', from: { data: 'here' }, encode: { enter: {
        x: { scale: 'x', field: 'gamma' }, y: { scale: 'y', field: 'alpha' },
        shape: { value: 'diamond' }, size: { value: 160 }, fill: { value: '#111' },
        stroke: { value: 'white' } } } },
      { type: 'text', from: { data: 'here' }, encode: { enter: {
        x: { scale: 'x', field: 'gamma', offset: 12 },
        y: { scale: 'y', field: 'alpha', offset: { signal: "datum.mode === 'TOE' ? -9 : 9" } },
        baseline: { value: 'middle' }, fontSize: { value: 12 }, fontWeight: { value: 'bold' },
        text: { signal: "'here: ' + datum.mode + ', ' + format(datum.gain, '+.0f') + ' %'" } } } }],
  }),

  waterfall: () => {
    const rows = data.waterfall.map((row, i) => ({ ...row, key: `${i}`, text: row.step }));
    return frame({
      height: 26 * rows.length,
      data: [{ name: 't', values: rows }],
      scales: [
        { name: 'y', type: 'band', domain: { data: 't', field: 'key' }, range: 'height', padding: 0.2 },
        { name: 'names', type: 'ordinal', domain: { data: 't', field: 'key' },
          range: { data: 't', field: 'text' } },
        { name: 'x', domain: { data: 't', fields: ['from', 'to'] }, range: 'width', nice: true, zero: true },
        ordinal('c', ['total', 'less', 'more'], ['#4c78a8', '#54a24b', '#e45756'])],
      axes: [
        { orient: 'left', scale: 'y', encode: { labels: { update: {
          text: { signal: "scale('names', datum.value)" } } } } },
        { orient: 'bottom', scale: 'x', grid: true, title: 'us of processor time per message, both hosts' }],
      legends: [{ fill: 'c', orient: 'right', offset: 50 }],
      marks: [
        { type: 'rect', from: { data: 't' }, encode: { enter: {
          y: { scale: 'y', field: 'key' }, height: { scale: 'y', band: 1 },
          x: { scale: 'x', field: 'from' }, x2: { scale: 'x', field: 'to' },
          fill: { scale: 'c', field: 'kind' } } } },
        { type: 'text', from: { data: 't' }, encode: { enter: {
          y: { scale: 'y', field: 'key', band: 0.5 }, baseline: { value: 'middle' },
          x: { signal: "max(scale('x', datum.from), scale('x', datum.to)) + 5" }, fontSize: { value: 11 },
          text: { signal: "datum.kind === 'total' ? format(datum.to, '.3~r') : " +
            "format(datum.to - datum.from, '+.3~r')" } } } }],
    });
  },

  eras: () => {
    const rows = ordered(data.eras);
    const [domain, range] = present(COMPONENTS, COMPONENT_COLOURS, rows.filter((r) => r.ghz > 0), 'component');
    const hosts = HOSTS.filter((host) => rows.some((row) => row.host === host));
    const each = Math.floor((WIDTH - 60 * (hosts.length - 1)) / hosts.length);
    return frame({
      height: 300, layout: { columns: hosts.length, padding: 30, align: 'none' },
      scales: [ordinal('c', domain, range)],
      legends: [{ fill: 'c', orient: 'right' }],
      marks: hosts.map((host, i) => ({
        type: 'group', title: { text: host, fontSize: 13, frame: 'group' },
        signals: [{ name: 'width', update: `${each}` }, { name: 'height', update: '280' }],
        encode: { enter: { width: { value: each }, height: { value: 280 } } },
        data: [{ name: `t${i}`, values: rows.filter((row) => row.host === host), transform: [
          { type: 'stack', groupby: ['mode'], field: 'ghz', sort: { field: 'order' } }] }],
        scales: [
          { name: 'x', type: 'band', domain: ['a', 'b', 'c', 'd'], range: [0, each], padding: 0.2 },
          { name: 'y', domain: { data: `t${i}`, field: 'y1' }, range: [280, 0], nice: true }],
        axes: [{ orient: 'bottom', scale: 'x' },
          { orient: 'left', scale: 'y', grid: true, tickCount: 6, format: '.3~r',
            title: i === 0 ? 'GHz per Gb/s, both hosts' : null }],
        marks: [{ type: 'rect', from: { data: `t${i}` }, encode: { enter: {
          x: { scale: 'x', field: 'mode' }, width: { scale: 'x', band: 1 },
          y: { scale: 'y', field: 'y0' }, y2: { scale: 'y', field: 'y1' },
          fill: { scale: 'c', field: 'component' } } } }],
      })),
    });
  },

  file: () => {
    const rows = data.file_transfer.flatMap((row) => [
      { mode: row.mode, what: 'sender, processor', seconds: row.tx },
      { mode: row.mode, what: 'receiver, processor', seconds: row.rx },
      { mode: row.mode, what: `elapsed`, seconds: row.seconds }]);
    return frame({
      height: 300,
      data: [{ name: 't', values: rows }],
      scales: [
        { name: 'x', type: 'band', domain: { data: 't', field: 'mode' }, range: 'width', padding: 0.2 },
        { name: 'y', domain: { data: 't', field: 'seconds' }, range: 'height', nice: true, zero: true },
        ordinal('c', ['sender, processor', 'receiver, processor', 'elapsed'],
          ['#4c78a8', '#f58518', '#bbbbbb'])],
      axes: [{ orient: 'bottom', scale: 'x' },
        { orient: 'left', scale: 'y', grid: true, title: 'seconds', format: '.3~r' }],
      legends: [{ fill: 'c', orient: 'right' }],
      marks: [{
        type: 'group', from: { facet: { name: 'f', data: 't', groupby: 'mode' } },
        encode: { enter: { x: { scale: 'x', field: 'mode' } } },
        signals: [{ name: 'width', update: "bandwidth('x')" }],
        scales: [{ name: 'pos', type: 'band', range: 'width', padding: 0.05,
          domain: ['sender, processor', 'receiver, processor', 'elapsed'] }],
        marks: [
          { type: 'rect', name: 'bar', from: { data: 'f' }, encode: { enter: {
            x: { scale: 'pos', field: 'what' }, width: { scale: 'pos', band: 1 },
            y: { scale: 'y', field: 'seconds' }, y2: { scale: 'y', value: 0 },
            fill: { scale: 'c', field: 'what' } } } },
          { type: 'text', from: { data: 'f' }, encode: { enter: {
            x: { scale: 'pos', field: 'what', band: 0.5 }, align: { value: 'center' },
            y: { scale: 'y', field: 'seconds', offset: -4 }, fontSize: { value: 10 },
            text: { signal: "format(datum.seconds, '.2~r')" } } } }],
      }],
    });
  },
};

const number = (value) => Number(value).toPrecision(3).replace(/\.?0+$|(\.\d*?)0+$/, '$1');

/** Cells are texts, or [text, class]. */
function table(id, head, rows) {
  const element = document.getElementById(id);
  const line = (cells, tag) => {
    const tr = element.appendChild(document.createElement('tr'));
    for (const cell of cells) {
      const [text, kind] = Array.isArray(cell) ? cell : [cell, ''];
      const td = tr.appendChild(document.createElement(tag));
      td.textContent = text;
      td.className = kind;
    }
  };
  line(head, 'th');
  for (const row of rows) line(row, 'td');
}

function tables() {
  table('crossovers', ['An RNIC is better than sockets in', ''],
    data.crossovers.map((c) => [c.what, c.text]));
  table('crc', ['CRC', 'markers', 'us, both hosts', 'of that checksum', 'message octets on the link'],
    data.crc_and_markers.map((row) => [row.crc, row.markers ? 'on' : 'off', [number(row.us), 'number'],
      [number(row.checksum_us), 'number'], [`${(100 * row.efficiency).toFixed(1)} %`, 'number']]));
  table('published', ['', 'figure', 'used as', 'mark', 'model', 'bounds', ''],
    data.published.flatMap((row) => row.checks.map((check, i) => [
      i === 0 ? `${row.number}` : '', i === 0 ? `${row.figure} (${row.source})` : '',
      i === 0 ? row.use : '', i === 0 ? row.mark : '',
      `${check.what}: ${number(check.model)} ${check.unit}`, `${check.low} to ${check.high}`,
      check.holds ? 'holds' : [`not reproduced: ${row.reason}`, 'miss']])));
  table('parameters', ['', 'meaning', 'value', '', '+-', 'mark', 'source'],
    data.parameters.map((p) => [p.key, p.meaning, [`${number(p.value)}`, 'number'], p.unit,
      [p.uncertainty ? `${Math.round(100 * p.uncertainty)} %` : '', 'number'], p.mark, p.source]));
}

async function draw() {
  const machine = Object.entries(data.machine).map(([name, text]) => `${name} ${text}`).join(', ');
  document.getElementById('host').textContent = [data.host, data.note, machine].filter(Boolean).join(' · ');
  document.getElementById('workload').textContent = `One message: ${data.workload}.`;
  for (const verdict of data.verdicts) {
    const item = document.getElementById('verdicts').appendChild(document.createElement('li'));
    item.textContent = `${verdict.mode}: ${verdict.text}.`;
  }
  tables();
  for (const [id, spec] of Object.entries(plots)) {
    const figure = document.getElementById(id);
    const place = figure.appendChild(document.createElement('div'));
    try {
      const view = new vega.View(vega.parse(spec()), { renderer: 'svg', container: place });
      await view.runAsync();
    } catch (error) {
      place.className = 'failed';
      place.textContent = `This picture cannot be drawn: ${error.message}`;
      console.error(id, error);
    }
  }
  document.body.dataset.ready = 'true';
}

draw();
