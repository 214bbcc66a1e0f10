// SPDX-License-Identifier: Apache-2.0
// The sequence diagram: a lifeline for each end, an arrow for each frame, and the times of the frames.
import * as React from 'react';
import { scaleLinear, scalePoint } from 'd3-scale';
import { Connection, End, Frame, Row, closedText, isError, seconds, skippedText } from './model';
import { VirtualList, useWidth } from './virtual_list';

/** rowHeight() returns the height in px of a row with this number of text lines. arrowAt() returns the vertical
 * position of the arrow, which is below the text. */
const rowHeight = (lines: number): number => 28 + 17 * lines;
const arrowAt = (lines: number): number => rowHeight(lines) - 12;
const MOST_LINES = 3;
const HEAD = 8;
const CHARACTER = 7.6; // width in px of a bold character in a label

/** Returns the horizontal positions of the two lifelines. */
function lanes(width: number): Record<End, number> {
  const x = scalePoint().domain(['near', 'far']).range([0, width]).padding(0.04);
  return { near: x('near') ?? 0, far: x('far') ?? width };
}

function label(row: Row): string {
  if (row.type === 'frame' || row.type === 'local') return row.text;
  if (row.type === 'closed') return closedText(row);
  return skippedText(row);
}

const rulesOf = (row: Frame): string => (row.violations ?? []).map((v) => v.rule).join(', ');

function Arrow({ row, x, line }: { row: Row; x: Record<End, number>; line: number }): JSX.Element {
  if (row.type === 'closed') {
    return <line className="end" x1={x.near} x2={x.far} y1={line} y2={line} />;
  }
  if (row.type === 'local') {
    return <circle className="local" cx={x[row.end]} cy={line} r={HEAD / 2} />;
  }
  const from = x[row.from];
  const to = x[row.from === 'near' ? 'far' : 'near'];
  const way = to > from ? 1 : -1;
  return (
    <g className={row.type === 'skipped' ? 'arrow skipped' : 'arrow'}>
      <line x1={from} x2={to - way * HEAD} y1={line} y2={line} />
      <path d={`M${to} ${line}l${-way * HEAD} ${-HEAD / 2}v${HEAD}z`} />
    </g>
  );
}

/** Returns the direction of a row in words, for screen readers. */
function wayOf(row: Row): string {
  if (row.type === 'closed') return '';
  if (row.type === 'local') return row.end === 'near' ? 'at the left' : 'at the right';
  return row.from === 'near' ? 'to the right' : 'to the left';
}

interface Marks { request?: number; cause?: number; told?: number }

/** Returns how the row is related to the open row, for example "its request". */
function markOf(row: Row, marks: Marks): string {
  if (row.type !== 'frame') return '';
  if (row.frame === marks.request) return 'its request';
  if (row.frame === marks.cause) return 'its cause';
  if (row.frame === marks.told) return 'advertised the STag (a guess)';
  return '';
}

interface ItemProps {
  row: Row; index: number; total: number; selected: boolean; mark: string; x: Record<End, number>;
  width: number; lines: number; refused: boolean; note: string; onOpen: (index: number) => void;
}

const Item = React.memo(function Item(p: ItemProps) {
  const { row } = p;
  const classes = ['row', row.type === 'frame' ? `op-${row.op}` : row.type];
  if (row.type === 'local') classes.push(`at-${row.end}`);
  const height = rowHeight(p.lines);
  if (isError(row)) classes.push('error');
  if (p.selected) classes.push('selected');
  if (p.mark) classes.push('joined');
  if (p.note) classes.push('noted');
  const rules = row.type === 'frame' ? rulesOf(row) : '';
  const way = wayOf(row);
  return (
    <div className={classes.join(' ')} id={`row-${p.index}`} role="option" aria-selected={p.selected}
      aria-setsize={p.total} aria-posinset={p.index + 1} style={{ height, ['--lines' as string]: p.lines }}
      onClick={() => p.onOpen(p.index)}>
      <span className="time">{seconds(row.after)}<small>{row.type === 'frame' ? row.frame : ''}</small></span>
      <span className="lane">
        <svg width={p.width} height={height} aria-hidden="true">
          <line className="life" x1={p.x.near} x2={p.x.near} y1="0" y2={height} />
          <line className="life" x1={p.x.far} x2={p.x.far} y1="0" y2={height} />
          <Arrow row={row} x={p.x} line={arrowAt(p.lines)} />
        </svg>
        <span className="says" title={label(row)}>
          <span className="hidden">{way} </span>
          {rules && <b className="badge">! {rules}</b>}{p.refused && <b className="badge">refused</b>}
          {p.note && <b className="note">{p.note}</b>}
          {p.mark && <i>{p.mark}: </i>}{label(row)}
        </span>
      </span>
    </div>
  );
});

interface Props {
  connection: Connection; rows: number[]; selected: number; onSelect: (at: number) => void;
  onKey?: (event: React.KeyboardEvent) => void;
  /** Returns an additional short remark about a row. */
  noteOf?: (row: Row) => string;
}

/** Shows the diagram. `rows` has the indices in connection.rows of the rows to show; `selected` is one of them. */
export function Sequence({ connection, rows, selected, onSelect, onKey, noteOf }: Props): JSX.Element {
  const head = React.useRef<HTMLDivElement>(null);
  const width = useWidth(head);
  const x = React.useMemo(() => lanes(width), [width]);
  const lines = React.useMemo(() => {
    const longest = rows.reduce((most, at) => {
      const row = connection.rows[at];
      const badges = row.type === 'frame' ? rulesOf(row).length + 12 : 0;
      return Math.max(most, label(row).length + badges);
    }, 0);
    return Math.min(Math.max(Math.ceil(longest * CHARACTER / Math.max(0.9 * width, 1)), 1), MOST_LINES);
  }, [connection, rows, width]);
  const open = connection.rows[rows[selected]];
  const marks: Marks = open?.type === 'frame'
    ? { request: open.request, cause: open.cause, told: open.stag_origin?.frame } : {};
  return (
    <section className="sequence" aria-label="Sequence diagram">
      <div className="ends" aria-hidden="true">
        <span className="time">seconds</span>
        <div className="lane" ref={head}><b>{connection.names.near}</b><b>{connection.names.far}</b></div>
      </div>
      <Overview connection={connection} rows={rows} selected={selected} onSelect={onSelect} />
      <VirtualList className="rows" count={rows.length} rowHeight={rowHeight(lines)} shown={selected}
        role="listbox" tabIndex={0} onKeyDown={onKey} id="rows"
        aria-label={`Frames from ${connection.names.near}, on the left, and ${connection.names.far}, on the right`}
        aria-activedescendant={`row-${selected}`}
        render={(i) => {
          const row = connection.rows[rows[i]];
          return (
            <Item key={i} row={row} index={i} total={rows.length} selected={i === selected} x={x} width={width} lines={lines}
              mark={markOf(row, marks)} note={noteOf?.(row) ?? ''} onOpen={onSelect}
              refused={row.type === 'frame' && connection.refusedBy.has(row.frame)} />
          );
        }} />
    </section>
  );
}

const STRIP = { height: 46, middle: 14, most: 12 };

interface Bin { near: number; far: number; bad: boolean }

/** Shows the number of frames in each bin as a bar, on a logarithmic scale. */
const Bars = React.memo(function Bars({ bins }: { bins: [number, Bin][] }) {
  const most = bins.reduce((n, [, bin]) => Math.max(n, bin.near, bin.far), 1);
  const scale = scaleLinear().domain([0, Math.log2(most + 1)]).range([0, STRIP.most]);
  const y = (n: number) => scale(Math.log2(n + 1));
  return (
    <>{bins.map(([place, bin]) => (
      <g key={place} className={bin.bad ? 'bad' : ''}>
        <rect x={place - 1} width="2" y={STRIP.middle - y(bin.near)} height={y(bin.near)} />
        <rect x={place - 1} width="2" y={STRIP.middle} height={y(bin.far)} />
      </g>))}
    </>
  );
});

/** Shows when the frames were sent. Frames of the near end are above the line, frames of the far end below it;
 * errors are red. */
function Overview({ connection, rows, selected, onSelect }: Omit<Props, 'onKey' | 'noteOf'>): JSX.Element {
  const box = React.useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const last = connection.rows[connection.rows.length - 1].after;
  const first = connection.rows[0].after;
  const x = React.useMemo(() => scaleLinear().domain([first, Math.max(last, first + 1)])
    .range([8, Math.max(width - 8, 9)]).clamp(true), [first, last, width]);
  const bins = React.useMemo(() => {
    const out = new Map<number, Bin>();
    for (const at of rows) {
      const row = connection.rows[at];
      if (row.type === 'closed' || row.type === 'local') continue;
      const place = Math.round(x(row.after) / 3) * 3;
      const bin = out.get(place) ?? { near: 0, far: 0, bad: false };
      bin[row.from] += 1;
      bin.bad = bin.bad || isError(row);
      out.set(place, bin);
    }
    return [...out];
  }, [connection, rows, x]);
  const tick = scaleLinear().domain([first / 1e9, last / 1e9]);
  const count = Math.max(2, Math.floor(width / 110));
  const format = tick.tickFormat(count);
  const jump = (event: React.MouseEvent<SVGSVGElement>) => {
    const wanted = x.invert(event.clientX - event.currentTarget.getBoundingClientRect().left);
    let best = 0;
    rows.forEach((at, i) => {
      const distance = Math.abs(connection.rows[at].after - wanted);
      if (distance < Math.abs(connection.rows[rows[best]].after - wanted)) best = i;
    });
    onSelect(best);
  };
  const now = connection.rows[rows[selected]];
  return (
    <div className="overview" ref={box} aria-hidden="true">
      <svg width={width} height={STRIP.height} onClick={jump}>
        <line className="axis" x1="0" x2={width} y1={STRIP.middle} y2={STRIP.middle} />
        <Bars bins={bins} />
        {last > first && tick.ticks(count).map((t) => (
          <text key={t} x={x(t * 1e9)} y={STRIP.height - 5}
            textAnchor={x(t * 1e9) < 30 ? 'start' : x(t * 1e9) > width - 30 ? 'end' : 'middle'}>{format(t)} s</text>
        ))}
        {now && <line className="now" x1={x(now.after)} x2={x(now.after)} y1="0" y2={2 * STRIP.middle} />}
      </svg>
    </div>
  );
}
