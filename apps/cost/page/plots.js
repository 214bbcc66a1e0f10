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

const X = (field, more) => ({ scale: 'x', field, ...more });
const Y = (field, more) => ({ scale: 'y', field, ...more });
const is = (value) => ({ value });
/** Returns a mark for each row of `source`. `enter` says where and how it is drawn. */
const mark = (type, source, enter, more) => ({ type, from: source && { data: source }, encode: { enter }, ...more });
const WIDE = { x: is(0), x2: { signal: 'width' } };
const HIGH = { y: is(0), y2: { signal: 'height' } };
const SHADE = { fill: is(INK), fillOpacity: is(0.12) };

/** Draws an area from `low` to `high` of each row, behind the lines. */
const bandOf = (source) => mark('area', source, { x: X('size'), y: Y('low'), y2: Y('high'), ...SHADE }, { clip: true });

/** Draws a line for each value of `group`, on logarithmic axes. `behind` are marks behind the lines. */
const lines = (width, { rows, x, y, group, xAxis, yAxis, domain, behind = [], extra = [], ...spec }) => {
  const names = unique(rows, group);
  return frame(width, {
    data: [{ name: 't', values: rows }, ...extra],
    scales: [
      { name: 'x', type: 'log', domain: { data: 't', field: x }, range: 'width' },
      { name: 'y', type: 'log', range: 'height', zero: false, domain: domain ?? { data: 't', field: y }, nice: !domain },
      { name: 'dash', type: 'ordinal', domain: names, range: names.map((name) => DASHES[name]) }],
    axes: [xAxis, { orient: 'left', scale: 'y', grid: true, ...yAxis }],
    legends: names.length > 1 ? [{ strokeDash: 'dash', symbolType: 'stroke', symbolStrokeWidth: 2, symbolSize: 500 }] : [],
    marks: [...behind, {
      type: 'group', clip: true, from: { facet: { name: 's', data: 't', groupby: group } },
      encode: { enter: { width: { signal: 'width' }, height: { signal: 'height' } } },
      marks: [mark('line', 's', { x: X(x), y: Y(y), stroke: is(INK), strokeDash: { scale: 'dash', field: group },
        strokeWidth: { signal: `datum.${group} === '${EACH_TIME}' ? 2.6 : 1.5` } })],
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
        mark('rect', 't', { y: Y('way'), height: { scale: 'y', band: 1 }, x: X('y0'), x2: X('y1'),
          fill: { scale: 'c', field: 'component' } }),
        mark('text', 'totals', { y: Y('way', { band: 0.5 }), x: X('total_us', { offset: 5 }), baseline: is('middle'),
          text: { signal: "format(datum.total_us, '.3~r')" } })],
    });
  },

  flip: (width) => {
    const found = data.crossovers.find((c) => c.over === 'kernel sockets' && c.what.endsWith('registered each time'));
    const [first, last] = [data.by_size[0].size, data.by_size[data.by_size.length - 1].size];
    const shaded = found.low === found.high ? []
      : [{ low: Math.max(first, found.low ?? last), high: Math.min(last, found.high ?? last) }];
    const rows = data.by_size.filter((row) => row.way !== 'kernel sockets');
    const each = rows.filter((row) => row.way === EACH_TIME);
    const rule = (field) => mark('rule', 'shaded', { x: X(field), ...HIGH, stroke: is(SOFT), strokeDash: is([3, 3]) });
    return lines(width, { rows, x: 'size', y: 'ratio', group: 'way',
      domain: [Math.max(0.01, Math.min(0.5, ...rows.map((row) => row.low))), Math.max(2, ...rows.map((row) => row.high))],
      // The text is above the picture, where no line crosses it.
      title: { text: [`${EACH_TIME}: cheaper ${found.text.split(' (')[0]}`,
        shaded.length ? `90 % band: ${found.text.split('(')[1].replace(')', '')}` : 'no uncertainty'] },
      extra: [{ name: 'shaded', values: shaded }, { name: 'each', values: each }],
      behind: [mark('rect', 'shaded', { x: X('low'), x2: X('high'), ...HIGH, ...SHADE }, { clip: true }),
        rule('low'), rule('high'), bandOf('each'),
        mark('rule', undefined, { ...WIDE, y: { scale: 'y', value: 1 }, stroke: is(INK) })],
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
      mark('rect', 'claim', { ...WIDE, y: Y('low'), y2: Y('high'), fill: is(SOFT), fillOpacity: is(0.4) }),
      mark('text', 'claim', { x: is(4), y: Y('high', { offset: -4 }), text: is('what is often said') }),
      bandOf('model'),
      mark('line', 'model', { x: X('size'), y: Y('share'), stroke: is(INK), strokeWidth: is(2) }),
      mark('rule', 'dots', { x: X('size'), y: Y('low'), y2: Y('high'), stroke: is(INK), strokeWidth: is(6) })],
  }),
};
