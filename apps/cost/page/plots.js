// SPDX-License-Identifier: Apache-2.0
// The charts. Each chart has a function that returns a Vega specification for a given width, filled with the numbers
// in the page. Vega draws the axes, scales and legends. The specifications refer to colours by their names in the
// style sheet, so dark mode and paper need no redraw. The code loads nothing and computes nothing except unit
// conversions.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);

// Each colour has a contrast of at least 3 to 1 with both the light and the dark background.
const MODES = ['kernel sockets', 'software iWARP', 'TOE', 'RNIC, each time', 'RNIC, --reuse',
  'RNIC, once', '1 GHz per Gb/s'];
const MODE_COLOURS = ['#4c78a8', '#cc6a0c', '#3f9142', '#dd4b49', '#8c8c2a', '#a566a0', '#808080'];
const COMPONENTS = ['copy', 'checksum', 'protocol', 'system call', 'interrupt', 'wake-up',
  'registration', 'post and poll'];
const COMPONENT_COLOURS = ['#dd4b49', '#cc6a0c', '#4c78a8', '#3f918b', '#a1850f', '#a566a0',
  '#9c755f', '#3f9142'];
const HOSTS = ['2003', '2007', '100g', 'this host'];
const HOST_COLOURS = ['#9c755f', '#4c78a8', '#dd4b49', '#3f9142'];
const INK = 'var(--ink)';
const SOFT = 'var(--soft)';
const LINE = 'var(--line)';
const SIZE_TICKS = [1, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216];
const NARROW = 560; // width in px; on a narrower page the legend is below the chart
const HEIGHT = 330;

const sizeLabel = (value) => `${value} >= 1073741824 ? format(${value} / 1073741824, 'd') + ' GiB' : ` +
  `${value} >= 1048576 ? format(${value} / 1048576, 'd') + ' MiB' : ` +
  `${value} >= 1024 ? format(${value} / 1024, 'd') + ' KiB' : format(${value}, 'd') + ' B'`;

const frame = (width, spec) => ({
  $schema: 'https://vega.github.io/schema/vega/v5.json',
  width, height: HEIGHT, padding: 4, autosize: { type: 'fit-x', contains: 'padding' },
  config: {
    aria: false, // no ARIA attributes from Vega, because the figure has its own text
    axis: { labelFontSize: 11, titleFontSize: 12, titlePadding: 8, labelColor: INK, titleColor: INK,
      domainColor: SOFT, tickColor: SOFT, gridColor: LINE },
    legend: { labelFontSize: 11, titleFontSize: 11, symbolSize: 120, labelColor: INK, titleColor: INK,
      labelLimit: 200 },
    title: { color: INK },
    text: { fill: INK },
  },
  ...spec,
});

/** Places the legend beside the chart, or below the chart on a narrow page. */
const legend = (width, spec) => (width < NARROW
  ? { ...spec, orient: 'bottom', columns: 2, direction: 'horizontal' } : { ...spec, orient: 'right' });
const ordinal = (name, domain, range) => ({ name, type: 'ordinal', domain, range });
const sizeAxis = (title, width, orient = 'bottom', scale = 'x') => ({
  orient, scale, title, grid: true, labelOverlap: 'greedy',
  values: width < NARROW && orient === 'bottom' ? SIZE_TICKS.filter((_, i) => i % 2 === 0) : SIZE_TICKS,
  encode: { labels: { update: { text: { signal: sizeLabel('datum.value') } } } },
});
/** Returns the axis with the names of the bars. On a narrow page the names are slanted, because horizontal names
 * would overlap. */
const namesAxis = (width) => ({ orient: 'bottom', scale: 'x',
  ...(width < NARROW ? { labelAngle: -40, labelAlign: 'right', labelBaseline: 'middle' } : {}) });

function present(names, colours, rows, field) {
  const used = new Set(rows.map((row) => row[field]));
  const keep = names.map((_, i) => i).filter((i) => used.has(names[i]));
  return [keep.map((i) => names[i]), keep.map((i) => colours[i])];
}

/** Draws a line with its uncertainty band for each value of `group`. */
function lines(width, { rows, x, y, group, names, colours, xAxis, yAxis, extraData = [],
  extraMarks = [] }) {
  const [domain, range] = present(names, colours, rows, group);
  const banded = rows.length > 0 && 'low' in rows[0];
  const at = { x: { scale: 'x', field: x }, stroke: { scale: 'c', field: group } };
  const dash = { signal: `datum.${group} === '1 GHz per Gb/s' ? [6, 4] : [1, 0]` };
  return frame(width, {
    data: [{ name: 't', values: rows }, ...extraData],
    scales: [
      { name: 'x', type: 'log', domain: { data: 't', field: x }, range: 'width' },
      { name: 'y', type: 'log', range: 'height', nice: true, zero: false,
        domain: { data: 't', fields: banded ? ['low', 'high', y] : [y] } },
      ordinal('c', domain, range)],
    axes: [xAxis, { orient: 'left', scale: 'y', grid: true, ...yAxis }],
    legends: [legend(width, { stroke: 'c', symbolType: 'stroke' })],
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

const ordered = (rows) => rows.map((row) => ({ ...row, order: COMPONENTS.indexOf(row.component) }));
const crossover = (over) => data.crossovers
  .find((c) => c.over === over && c.what === 'processor time, buffers registered each time');

const specs = {
  bars: (width) => {
    const rows = ordered(data.bars);
    const [domain, range] = present(COMPONENTS, COMPONENT_COLOURS, rows.filter((r) => r.us > 0), 'component');
    return frame(width, {
      height: 300,
      data: [{ name: 't', values: rows, transform: [
        { type: 'stack', groupby: ['mode'], field: 'us', sort: { field: 'order' } }] },
      { name: 'totals', source: 't', transform: [
        { type: 'aggregate', groupby: ['mode'], fields: ['us'], ops: ['sum'], as: ['sum'] }] }],
      scales: [
        { name: 'x', type: 'band', domain: { data: 't', field: 'mode' }, range: 'width', padding: 0.25 },
        { name: 'y', domain: { data: 't', field: 'y1' }, range: 'height', nice: true },
        ordinal('c', domain, range)],
      axes: [namesAxis(width), { orient: 'left', scale: 'y', grid: true,
        title: 'us of processor time per message' }],
      legends: [legend(width, { fill: 'c' })],
      marks: [
        { type: 'rect', from: { data: 't' }, encode: { enter: {
          x: { scale: 'x', field: 'mode' }, width: { scale: 'x', band: 1 },
          y: { scale: 'y', field: 'y0' }, y2: { scale: 'y', field: 'y1' },
          fill: { scale: 'c', field: 'component' } } } },
        { type: 'text', from: { data: 'totals' }, encode: { enter: {
          x: { scale: 'x', field: 'mode', band: 0.5 }, y: { scale: 'y', field: 'sum', offset: -5 },
          align: { value: 'center' }, fontSize: { value: 11 }, fill: { value: INK },
          text: { signal: "format(datum.sum, '.3~r')" } } } }],
    });
  },

  size: (width) => {
    const rules = ['kernel sockets', 'TOE'].map(crossover).filter((c) => c && c.size)
      .map((c, i) => ({ size: c.size, row: i, text: `over ${c.over === 'TOE' ? 'a TOE' : 'sockets'}` }));
    return lines(width, { rows: data.by_size, x: 'size', y: 'ns', group: 'mode', names: MODES,
      colours: MODE_COLOURS, xAxis: sizeAxis('message size', width),
      yAxis: { title: 'ns per octet, both hosts', format: '.3~r', tickCount: 6 },
      extraData: [{ name: 'cross', values: rules }],
      extraMarks: [
        { type: 'rule', clip: true, from: { data: 'cross' }, encode: { enter: {
          x: { scale: 'x', field: 'size' }, y: { value: 0 }, y2: { signal: 'height' },
          stroke: { value: INK }, strokeDash: { value: [4, 4] } } } },
        { type: 'text', from: { data: 'cross' }, encode: { enter: {
          x: { scale: 'x', field: 'size', offset: { signal: 'datum.size > 32768 ? -5 : 5' } },
          align: { signal: "datum.size > 32768 ? 'right' : 'left'" }, y: { signal: '12 + 16 * datum.row' },
          fontSize: { value: 11 }, fill: { value: INK },
          text: { signal: `datum.text + ': from ' + format(datum.size / 1024, '.3~r') + ' KiB'` } } } }] });
  },

  rate: (width) => lines(width, { rows: data.by_rate, x: 'rate', y: 'cores', group: 'mode', names: MODES,
    colours: MODE_COLOURS,
    xAxis: { orient: 'bottom', scale: 'x', title: 'Gb/s', grid: true, labelOverlap: 'greedy',
      values: [1, 2, 5, 10, 25, 50, 100, 200, 400], format: 'd' },
    yAxis: { title: 'processors, busier host', format: '.3~r', tickCount: 6 } }),

  share: (width) => frame(width, {
    data: [{ name: 'model', values: data.copy_share.model },
      { name: 'dots', values: data.copy_share.measured },
      { name: 'claim', values: [{ low: 0.8, high: 0.85 }] }],
    scales: [
      { name: 'x', type: 'log', domain: { data: 'model', field: 'size' }, range: 'width' },
      { name: 'y', domain: [0, 1], range: 'height' },
      ordinal('c', ['model', 'measured here', 'what is often said'], ['#4c78a8', '#dd4b49', '#808080'])],
    axes: [sizeAxis('message size', width),
      { orient: 'left', scale: 'y', title: 'copying, share of processor time', format: '.0%', grid: true }],
    legends: [legend(width, { fill: 'c' })],
    marks: [
      { type: 'rect', from: { data: 'claim' }, encode: { enter: { x: { value: 0 }, x2: { signal: 'width' },
        y: { scale: 'y', field: 'low' }, y2: { scale: 'y', field: 'high' }, fill: { value: '#808080' },
        fillOpacity: { value: 0.4 } } } },
      { type: 'area', from: { data: 'model' }, encode: { enter: { x: { scale: 'x', field: 'size' },
        y: { scale: 'y', field: 'low' }, y2: { scale: 'y', field: 'high' }, fill: { value: '#4c78a8' },
        fillOpacity: { value: 0.15 } } } },
      { type: 'line', from: { data: 'model' }, encode: { enter: { x: { scale: 'x', field: 'size' },
        y: { scale: 'y', field: 'share' }, stroke: { value: '#4c78a8' }, strokeWidth: { value: 2.2 } } } },
      { type: 'rule', from: { data: 'dots' }, encode: { enter: { x: { scale: 'x', field: 'size' },
        y: { scale: 'y', field: 'low' }, y2: { scale: 'y', field: 'high' }, stroke: { value: '#dd4b49' },
        strokeWidth: { value: 2 } } } },
      ...['low', 'high'].map((field) => ({ type: 'symbol', from: { data: 'dots' }, encode: { enter: {
        x: { scale: 'x', field: 'size' }, y: { scale: 'y', field }, size: { value: 70 },
        fill: { value: '#dd4b49' } } } }))],
  }),

  reuse: (width) => lines(width, { rows: data.by_reuse, x: 'reuse', y: 'size', group: 'host', names: HOSTS,
    colours: HOST_COLOURS,
    xAxis: { orient: 'bottom', scale: 'x', title: 'transfers per registration', grid: true,
      values: [1, 2, 4, 8, 16, 32, 64], format: 'd' },
    yAxis: { ...sizeAxis('RNIC cheaper from this size on', width, 'left', 'y') } }),

  laws: (width) => {
    const here = data.laws.here.map((row) => ({ ...row, gamma: Math.min(5, Math.max(0.05, row.gamma)),
      alpha: Math.min(10, Math.max(0.1, row.alpha)) }));
    return frame(width, {
      height: 380,
      data: [{ name: 'cells', values: data.laws.cells }, { name: 'here', values: here }],
      scales: [
        { name: 'x', type: 'log', domain: [0.05, 5], range: 'width' },
        { name: 'y', type: 'log', domain: [0.1, 10], range: 'height' },
        { name: 'c', type: 'linear', domain: [-100, 0, 300], range: ['#b2182b', '#f7f7f7', '#2166ac'],
          clamp: true },
        ordinal('s', here.map((row) => row.mode), ['diamond', 'circle'])],
      axes: [
        { orient: 'bottom', scale: 'x', format: '.3~r', tickCount: 6,
          title: width < NARROW ? "gamma: program's work / communication's"
            : "gamma: the program's work over that of communication" },
        { orient: 'left', scale: 'y', format: '.3~r', tickCount: 6,
          title: 'alpha: how much slower the card is' }],
      legends: [
        { ...legend(width, { fill: 'c', title: 'gain in throughput, %', gradientLength: 180 }), columns: 1 },
        legend(width, { shape: 's', title: 'this host', symbolFillColor: INK, symbolStrokeColor: INK })],
      marks: [
        { type: 'rect', clip: true, from: { data: 'cells' }, encode: { enter: {
          x: { scale: 'x', field: 'gamma' }, x2: { scale: 'x', field: 'gamma2' },
          y: { scale: 'y', field: 'alpha' }, y2: { scale: 'y', field: 'alpha2' },
          fill: { scale: 'c', field: 'gain' }, stroke: { scale: 'c', field: 'gain' } } } },
        { type: 'symbol', from: { data: 'here' }, encode: { enter: {
          x: { scale: 'x', field: 'gamma' }, y: { scale: 'y', field: 'alpha' },
          shape: { scale: 's', field: 'mode' }, fill: { value: '#111' },
          // Draw the TOE's symbol larger, because another symbol may be at the same place.
          size: { signal: "datum.mode === 'TOE' ? 320 : 80" },
          stroke: { value: 'white' }, strokeWidth: { value: 1.5 } } } }],
    });
  },

  waterfall: (width) => {
    const rows = data.waterfall.map((row, i) => ({ ...row, key: `${i}`, text: row.step }));
    return frame(width, {
      height: 26 * rows.length,
      data: [{ name: 't', values: rows }],
      scales: [
        { name: 'y', type: 'band', domain: { data: 't', field: 'key' }, range: 'height', padding: 0.2 },
        { name: 'names', type: 'ordinal', domain: { data: 't', field: 'key' },
          range: { data: 't', field: 'text' } },
        { name: 'x', domain: { data: 't', fields: ['from', 'to'] }, nice: true, zero: true,
          range: [0, { signal: 'width - 45' }] },
        ordinal('c', ['total', 'less', 'more'], ['#4c78a8', '#3f9142', '#dd4b49'])],
      axes: [
        { orient: 'left', scale: 'y', encode: { labels: { update: {
          text: { signal: "scale('names', datum.value)" } } } } },
        { orient: 'bottom', scale: 'x', grid: true, labelOverlap: 'greedy',
          title: width < NARROW ? 'us per message, both hosts' : 'us of processor time per message, both hosts' }],
      legends: [legend(width, { fill: 'c', offset: width < NARROW ? 10 : 50 })],
      marks: [
        { type: 'rect', from: { data: 't' }, encode: { enter: {
          y: { scale: 'y', field: 'key' }, height: { scale: 'y', band: 1 },
          x: { scale: 'x', field: 'from' }, x2: { scale: 'x', field: 'to' },
          fill: { scale: 'c', field: 'kind' } } } },
        { type: 'text', from: { data: 't' }, encode: { enter: {
          y: { scale: 'y', field: 'key', band: 0.5 }, baseline: { value: 'middle' },
          x: { signal: "max(scale('x', datum.from), scale('x', datum.to)) + 5" }, fontSize: { value: 11 },
          fill: { value: INK },
          text: { signal: "datum.kind === 'total' ? format(datum.to, '.3~r') : " +
            "format(datum.to - datum.from, '+.3~r')" } } } }],
    });
  },

  eras: (width) => {
    const rows = ordered(data.eras);
    const [domain, range] = present(COMPONENTS, COMPONENT_COLOURS, rows.filter((r) => r.ghz > 0), 'component');
    const hosts = HOSTS.filter((host) => rows.some((row) => row.host === host));
    const letters = [...new Set(rows.map((row) => row.mode))];
    const narrow = width < NARROW;
    const columns = narrow ? 1 : hosts.length;
    const room = narrow ? width - 70 : width - 190;
    const each = Math.floor((room - 60 * (columns - 1)) / columns);
    const height = narrow ? 150 : 260;
    return frame(width, {
      autosize: 'pad', layout: { columns, padding: 30, align: 'none' },
      scales: [ordinal('c', domain, range)],
      legends: [legend(width, { fill: 'c' })],
      marks: hosts.map((host, i) => ({
        type: 'group', title: { text: host, fontSize: 13, frame: 'group' },
        signals: [{ name: 'width', update: `${each}` }, { name: 'height', update: `${height}` }],
        encode: { enter: { width: { value: each }, height: { value: height } } },
        data: [{ name: `t${i}`, values: rows.filter((row) => row.host === host), transform: [
          { type: 'stack', groupby: ['mode'], field: 'ghz', sort: { field: 'order' } }] }],
        scales: [
          { name: 'x', type: 'band', domain: letters, range: [0, each], padding: 0.2 },
          { name: 'y', domain: { data: `t${i}`, field: 'y1' }, range: [height, 0], nice: true }],
        axes: [{ orient: 'bottom', scale: 'x' },
          { orient: 'left', scale: 'y', grid: true, tickCount: 6, format: '.3~r',
            title: i === 0 || narrow ? 'GHz per Gb/s, both hosts' : null }],
        marks: [{ type: 'rect', from: { data: `t${i}` }, encode: { enter: {
          x: { scale: 'x', field: 'mode' }, width: { scale: 'x', band: 1 },
          y: { scale: 'y', field: 'y0' }, y2: { scale: 'y', field: 'y1' },
          fill: { scale: 'c', field: 'component' } } } }],
      })),
    });
  },

  file: (width) => {
    const kinds = ['sender, processor', 'receiver, processor', 'elapsed'];
    const rows = data.file_transfer.flatMap((row) => [row.tx, row.rx, row.seconds]
      .map((seconds, i) => ({ mode: row.mode, what: kinds[i], seconds })));
    return frame(width, {
      height: 300,
      data: [{ name: 't', values: rows }],
      scales: [
        { name: 'x', type: 'band', domain: { data: 't', field: 'mode' }, range: 'width', padding: 0.2 },
        { name: 'y', domain: { data: 't', field: 'seconds' }, range: 'height', nice: true, zero: true },
        ordinal('c', kinds, ['#4c78a8', '#cc6a0c', '#808080'])],
      axes: [namesAxis(width),
        { orient: 'left', scale: 'y', grid: true, title: 'seconds', format: '.3~r' }],
      legends: [legend(width, { fill: 'c' })],
      marks: [{
        type: 'group', from: { facet: { name: 'f', data: 't', groupby: 'mode' } },
        encode: { enter: { x: { scale: 'x', field: 'mode' } } },
        signals: [{ name: 'width', update: "bandwidth('x')" }],
        scales: [{ name: 'pos', type: 'band', range: 'width', padding: 0.05, domain: kinds }],
        marks: [
          { type: 'rect', from: { data: 'f' }, encode: { enter: {
            x: { scale: 'pos', field: 'what' }, width: { scale: 'pos', band: 1 },
            y: { scale: 'y', field: 'seconds' }, y2: { scale: 'y', value: 0 },
            fill: { scale: 'c', field: 'what' } } } },
          ...(width < NARROW ? [] : [{ type: 'text', from: { data: 'f' }, encode: { enter: {
            x: { scale: 'pos', field: 'what', band: 0.5 }, align: { value: 'center' },
            y: { scale: 'y', field: 'seconds', offset: -4 }, fontSize: { value: 10 }, fill: { value: INK },
            text: { signal: "format(datum.seconds, '.2~r')" } } } }])],
      }],
    });
  },
};
