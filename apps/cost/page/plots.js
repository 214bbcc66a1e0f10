// SPDX-License-Identifier: Apache-2.0
// The charts. Each chart has a function that returns a Vega specification for a given width, filled with the numbers
// in the page. Vega draws the axes, scales and legends. The specifications refer to colours by their names in the
// style sheet, so dark mode and paper need no redraw. A colour stands for a kind of work; ways and hosts differ by the
// dashes of their lines.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

// Each colour has a contrast of at least 3 to 1 with both the light and the dark background.
const COMPONENT_COLOURS = { copy: '#dd4b49', checksum: '#cc6a0c', cipher: '#6b7fd7', protocol: '#4c78a8', 'system call': '#3f918b',
  interrupt: '#a1850f', 'wake-up': '#a566a0', registration: '#9c755f', 'post and poll': '#3f9142' };
const DASHES = { 'kernel TLS': [1, 3], 'zero-copy send': [5, 5], 'zero-copy receive': [12, 3, 2, 3], 'software iWARP': [2, 2], TOE: [7, 3], 'RNIC, each time': [1, 0],
  'RNIC, --reuse': [12, 3], 'RNIC, on demand': [12, 3], 'RNIC, once': [10, 3, 2, 3], 2003: [2, 2], 2007: [7, 3], '100g': [1, 0],
  'this host': [10, 3, 2, 3] };
const INK = 'var(--ink)';
const SOFT = 'var(--soft)';
const LINE = 'var(--line)';
const NARROW = 560; // width in px; a narrower chart has fewer ticks, and two columns in its legend
const SIZE_TICKS = [1, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];
const EACH_TIME = 'RNIC, each time';

const unique = (rows, field) => [...new Set(rows.map((row) => row[field]))];
const sizeLabel = (value) => `${value} >= 1048576 ? format(${value} / 1048576, 'd') + ' MiB' : ` +
  `${value} >= 1024 ? format(${value} / 1024, 'd') + ' KiB' : format(${value}, 'd') + ' B'`;

const frame = (width, spec) => ({
  $schema: 'https://vega.github.io/schema/vega/v5.json',
  width, height: 230, padding: 4, autosize: { type: 'fit-x', contains: 'padding' },
  config: {
    aria: false, // no ARIA attributes from Vega, because the figure has its own text
    axis: { labelFontSize: 11, titleFontSize: 12, titleFontWeight: 'normal', labelColor: INK, titleColor: INK,
      domainColor: SOFT, tickColor: SOFT, gridColor: LINE, labelLimit: 120 },
    legend: { orient: 'bottom', direction: 'horizontal', offset: 6, columns: width < NARROW ? 2 : 4, labelFontSize: 11,
      symbolSize: 120, labelColor: INK, labelLimit: 200, symbolStrokeColor: INK },
    title: { color: INK, fontSize: 12, fontWeight: 'normal', anchor: 'start', offset: 4 },
    text: { fill: INK, fontSize: 11 },
  },
  ...spec,
});

const sizeAxis = (title, width, orient = 'bottom', scale = 'x') => ({
  orient, scale, title, grid: true, labelOverlap: 'greedy',
  values: width < NARROW && orient === 'bottom' ? SIZE_TICKS.filter((_, i) => i % 2 === 0) : SIZE_TICKS,
  encode: { labels: { update: { text: { signal: sizeLabel('datum.value') } } } },
});

/** Draws an area from `low` to `high` of each row, behind the lines. */
const bandOf = (source, x) => ({ type: 'area', clip: true, from: { data: source }, encode: { enter: {
  x: { scale: 'x', field: x }, y: { scale: 'y', field: 'low' }, y2: { scale: 'y', field: 'high' },
  fill: { value: INK }, fillOpacity: { value: 0.12 } } } });

/** Draws a line for each value of `group`, on logarithmic axes. `behind` are marks behind the lines. */
const lines = (width, { rows, x, y, group, xAxis, yAxis, domain, behind = [], extra = [], ...spec }) => {
  const names = unique(rows, group);
  const scaleOfY = { name: 'y', type: 'log', range: 'height', zero: false };
  return frame(width, {
    data: [{ name: 't', values: rows }, ...extra],
    scales: [
      { name: 'x', type: 'log', domain: { data: 't', field: x }, range: 'width' },
      { ...scaleOfY, ...(domain ? { domain } : { domain: { data: 't', field: y }, nice: true }) },
      { name: 'dash', type: 'ordinal', domain: names, range: names.map((name) => DASHES[name]) }],
    axes: [xAxis, { orient: 'left', scale: 'y', grid: true, ...yAxis }],
    legends: names.length > 1 ? [{ strokeDash: 'dash', symbolType: 'stroke', symbolStrokeWidth: 2, symbolSize: 500 }] : [],
    marks: [...behind, {
      type: 'group', clip: true, from: { facet: { name: 's', data: 't', groupby: group } },
      encode: { enter: { width: { signal: 'width' }, height: { signal: 'height' } } },
      marks: [{ type: 'line', from: { data: 's' }, encode: { enter: { x: { scale: 'x', field: x },
        y: { scale: 'y', field: y }, stroke: { value: INK }, strokeDash: { scale: 'dash', field: group },
        strokeWidth: { signal: `datum.${group} === '${EACH_TIME}' ? 2.6 : 1.5` } } } }],
    }],
    ...spec,
  });
};

const specs = {
  time: (width) => {
    const rows = data.ways.flatMap((way) => Object.entries(way.us)
      .map(([component, us], order) => ({ way: way.way, component, us, order })));
    const used = unique(rows.filter((row) => row.us > 0), 'component');
    return frame(width, {
      height: 40 * data.ways.length,
      data: [{ name: 't', values: rows, transform: [
        { type: 'stack', groupby: ['way'], field: 'us', sort: { field: 'order' } }] },
      { name: 'totals', values: data.ways }],
      scales: [
        { name: 'y', type: 'band', domain: data.ways.map((way) => way.way), range: 'height', padding: 0.25 },
        { name: 'x', domain: { data: 'totals', field: 'total_us' }, range: [0, { signal: 'width - 48' }], zero: true },
        { name: 'c', type: 'ordinal', domain: used, range: used.map((name) => COMPONENT_COLOURS[name]) }],
      axes: [{ orient: 'left', scale: 'y', ticks: false, domain: false },
        { orient: 'bottom', scale: 'x', grid: true, labelOverlap: 'greedy', format: '.3~r', tickCount: 6,
          title: 'us of processor time, both hosts' }],
      legends: [{ fill: 'c', symbolType: 'square', symbolStrokeColor: 'transparent' }],
      marks: [
        { type: 'rect', from: { data: 't' }, encode: { enter: {
          y: { scale: 'y', field: 'way' }, height: { scale: 'y', band: 1 },
          x: { scale: 'x', field: 'y0' }, x2: { scale: 'x', field: 'y1' },
          fill: { scale: 'c', field: 'component' } } } },
        { type: 'text', from: { data: 'totals' }, encode: { enter: {
          y: { scale: 'y', field: 'way', band: 0.5 }, x: { scale: 'x', field: 'total_us', offset: 5 },
          baseline: { value: 'middle' }, text: { signal: "format(datum.total_us, '.3~r')" } } } }],
    });
  },

  flip: (width) => {
    const found = data.crossovers.find((c) => c.over === 'kernel sockets' && c.what.endsWith('registered each time'));
    const [first, last] = [data.by_size[0].size, data.by_size[data.by_size.length - 1].size];
    const shaded = found.low === found.high ? []
      : [{ low: Math.max(first, found.low ?? last), high: Math.min(last, found.high ?? last) }];
    const rows = data.by_size.filter((row) => row.way !== 'kernel sockets');
    const each = rows.filter((row) => row.way === EACH_TIME);
    const rule = (field) => ({ type: 'rule', from: { data: 'shaded' }, encode: { enter: {
      x: { scale: 'x', field }, y: { value: 0 }, y2: { signal: 'height' }, stroke: { value: SOFT },
      strokeDash: { value: [3, 3] } } } });
    return lines(width, { rows, x: 'size', y: 'ratio', group: 'way',
      domain: [Math.max(0.01, Math.min(0.5, ...rows.map((row) => row.low))), Math.max(2, ...rows.map((row) => row.high))],
      // The text is above the picture, where no line crosses it.
      title: { text: [`${EACH_TIME}: cheaper ${found.text.split(' (')[0]}`,
        shaded.length ? `90 % band: ${found.text.split('(')[1].replace(')', '')}` : 'no uncertainty'] },
      extra: [{ name: 'shaded', values: shaded }, { name: 'each', values: each }],
      behind: [
        { type: 'rect', clip: true, from: { data: 'shaded' }, encode: { enter: {
          x: { scale: 'x', field: 'low' }, x2: { scale: 'x', field: 'high' }, y: { value: 0 },
          y2: { signal: 'height' }, fill: { value: INK }, fillOpacity: { value: 0.12 } } } },
        rule('low'), rule('high'), bandOf('each', 'size'),
        { type: 'rule', encode: { enter: { x: { value: 0 }, x2: { signal: 'width' }, y: { scale: 'y', value: 1 },
          stroke: { value: INK } } } }],
      xAxis: sizeAxis('message size', width),
      yAxis: { title: 'relative to sockets', format: '.3~r',
        values: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100] } });
  },

  reuse: (width) => lines(width, { rows: data.by_reuse, x: 'reuse', y: 'size', group: 'host',
    xAxis: { orient: 'bottom', scale: 'x', title: 'transfers per registration', grid: true,
      values: [1, 2, 4, 8, 16, 32, 64], format: 'd' },
    yAxis: sizeAxis('cheaper from this size on', width, 'left', 'y') }),

  share: (width) => frame(width, {
    data: [{ name: 'model', values: data.copy_share.model }, { name: 'dots', values: data.copy_share.measured },
      { name: 'claim', values: [{ low: 0.8, high: 0.85 }] }],
    scales: [{ name: 'x', type: 'log', domain: { data: 'model', field: 'size' }, range: 'width' },
      { name: 'y', domain: [0, 1], range: 'height' }],
    axes: [sizeAxis('message size', width),
      { orient: 'left', scale: 'y', title: 'share of processor time', format: '.0%', grid: true }],
    marks: [
      { type: 'rect', from: { data: 'claim' }, encode: { enter: { x: { value: 0 }, x2: { signal: 'width' },
        y: { scale: 'y', field: 'low' }, y2: { scale: 'y', field: 'high' }, fill: { value: SOFT },
        fillOpacity: { value: 0.4 } } } },
      { type: 'text', from: { data: 'claim' }, encode: { enter: { x: { value: 4 },
        y: { scale: 'y', field: 'high', offset: -4 }, text: { value: 'what is often said' } } } },
      bandOf('model', 'size'),
      { type: 'line', from: { data: 'model' }, encode: { enter: { x: { scale: 'x', field: 'size' },
        y: { scale: 'y', field: 'share' }, stroke: { value: INK }, strokeWidth: { value: 2 } } } },
      { type: 'rule', from: { data: 'dots' }, encode: { enter: { x: { scale: 'x', field: 'size' },
        y: { scale: 'y', field: 'low' }, y2: { scale: 'y', field: 'high' }, stroke: { value: INK },
        strokeWidth: { value: 6 } } } }],
  }),
};
