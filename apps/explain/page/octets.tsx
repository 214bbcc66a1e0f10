// SPDX-License-Identifier: Apache-2.0
// Shows one frame as a grid of octets, and next to it the list of its fields. If the user points at an octet or at a
// field, both are highlighted. Each layer can be folded to one line.
import * as React from 'react';
import { Field, Frame, Layer, Session, counted, fieldsOf, octetsOf } from './model';
import { VirtualList, useWidth } from './virtual_list';

const ROW = 26;
const MOST_LINES = 12; // maximum number of lines of the grid that are visible at once
const CELL = 24; // width in px of an octet in hexadecimal
const TEXT = 8.2; // width in px of an octet as a text character
const ADDRESS = 84; // width in px of the address, including the margins of the line

export const LAYERS: { layer: Layer; name: string }[] = [
  { layer: 'mpa', name: 'MPA' }, { layer: 'marker', name: 'Markers' }, { layer: 'ddp', name: 'DDP' },
  { layer: 'rdmap', name: 'RDMAP' }, { layer: 'ulp', name: 'Payload' },
];
const nameOf = (layer: Layer): string => LAYERS.find((l) => l.layer === layer)?.name ?? layer;

/** A line of the grid: some octets, or a range whose octets are not shown. */
type Line =
  | { kind: 'octets'; at: number[] }
  | { kind: 'folded'; layer: Layer; begin: number; size: number }
  | { kind: 'absent'; begin: number; size: number };

/** Returns, for each octet, the index of the first field that contains it, or -1 if the octet was not captured. */
function ownersOf(frame: Frame, fields: Field[]): Int32Array {
  const owners = new Int32Array(frame.size).fill(-1);
  for (const field of fields) {
    for (const { begin, size } of field.ranges) {
      for (let at = begin; at < begin + size && at < frame.size; at += 1) {
        if (owners[at] < 0) owners[at] = field.index;
      }
    }
  }
  return owners;
}

function linesOf(frame: Frame, fields: Field[], owners: Int32Array, folded: ReadonlySet<Layer>,
  columns: number): Line[] {
  const octet = octetsOf(frame);
  const lines: Line[] = [];
  /** Extends the last line by an octet if that line is of this kind; otherwise begins a new line. */
  const extend = (kind: 'folded' | 'absent', at: number, layer?: Layer) => {
    const last = lines[lines.length - 1];
    const same = last?.kind === kind && (last.kind === 'absent' || last.layer === layer);
    if (same) last.size += 1;
    else lines.push(kind === 'folded' && layer ? { kind, layer, begin: at, size: 1 } : { kind: 'absent', begin: at, size: 1 });
  };
  for (let at = 0; at < frame.size; at += 1) {
    const layer = owners[at] < 0 ? undefined : fields[owners[at]].layer;
    if (layer && folded.has(layer)) extend('folded', at, layer);
    else if (octet(at) === undefined || layer === undefined) extend('absent', at);
    else {
      const last = lines[lines.length - 1];
      if (last?.kind === 'octets' && last.at.length < columns) last.at.push(at);
      else lines.push({ kind: 'octets', at: [at] });
    }
  }
  return lines;
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
const readable = (value: number): string =>
  (value >= 0x20 && value <= 0x7e ? String.fromCharCode(value) : '·');

function cellClass(at: number, field: Field, owners: Int32Array, bad: boolean, arrived: number, damaged: boolean): string {
  const classes = ['octet', `layer-${field.layer}`];
  if (at >= arrived) classes.push('ahead');
  if (damaged) classes.push('damaged');
  if (field.name === 'PAD') classes.push('pad');
  if (field.name === 'CRC') classes.push('crc');
  if (at === 0 || owners[at - 1] !== owners[at]) classes.push('begins');
  if (bad) classes.push('bad');
  return classes.join(' ');
}

interface GridProps {
  frame: Frame; fields: Field[]; folded: ReadonlySet<Layer>; lit: number; bad: ReadonlySet<number>; arrived: number;
  damage: ReadonlyMap<number, number>;
  onPoint: (field: number) => void; onPin: (field: number, octet: number) => void; onUnfold: (layer: Layer) => void;
  onKey: (event: React.KeyboardEvent) => void;
}

/** Describes where a field is: "12 to 15", or several ranges if markers split the field. */
export const placesOf = (field: Field): string => field.ranges
  .map(({ begin, size }) => (size === 1 ? `${begin}` : `${begin} to ${begin + size - 1}`)).join(', ');

const wholeOf = (field: Field): number => field.ranges.reduce((sum, { size }) => sum + size, 0);

function Grid({ frame, fields, folded, lit, bad, arrived, damage, onPoint, onPin, onUnfold, onKey }: GridProps): JSX.Element {
  const box = React.useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const columns = width >= ADDRESS + 16 * (CELL + TEXT) ? 16 : width >= ADDRESS + 8 * CELL ? 8 : 4;
  const text = width >= ADDRESS + columns * (CELL + TEXT);
  const owners = React.useMemo(() => ownersOf(frame, fields), [frame, fields]);
  const lines = React.useMemo(() => linesOf(frame, fields, owners, folded, columns),
    [frame, fields, owners, folded, columns]);
  const octet = React.useMemo(() => octetsOf(frame), [frame]);
  const first = lit < 0 ? undefined : fields[lit].ranges[0].begin;
  const shown = first === undefined ? undefined
    : lines.findIndex((line) => line.kind === 'octets' && line.at.includes(first));
  const isLit = (at: number) => lit >= 0
    && fields[lit].ranges.some((r) => at >= r.begin && at < r.begin + r.size);

  const line = (i: number): JSX.Element => {
    const row = lines[i];
    if (row.kind === 'folded') {
      return (
        <button key={i} type="button" className={`folded layer-${row.layer}`} style={{ height: ROW - 2 }} tabIndex={-1}
          onClick={() => onUnfold(row.layer)}>▸ {nameOf(row.layer)}, {counted(row.size, 'octet')}</button>
      );
    }
    if (row.kind === 'absent') {
      return <div key={i} className="absent" style={{ height: ROW }}>{counted(row.size, 'octet')} not shown: {
        frame.missing ? 'not in the capture' : 'left out of this page'}</div>;
    }
    return (
      <div key={i} className="line" style={{ height: ROW }}>
        <span className="address">{hex(row.at[0], 4)}</span>
        {row.at.map((at) => (
          <span key={at} data-at={at} data-field={owners[at]}
            title={damage.has(at) ? `damaged in flight: the sender sent ${hex((octet(at) ?? 0) ^ (damage.get(at) ?? 0), 2)}` : undefined}
            className={cellClass(at, fields[owners[at]], owners, bad.has(owners[at]), arrived, damage.has(at)) + (isLit(at) ? ' lit' : '')}>
            {hex(octet(at) ?? 0, 2)}
          </span>
        ))}
        {text && <span className="text">{row.at.map((at) => (
          <span key={at} className={isLit(at) ? 'lit' : ''}>{readable(octet(at) ?? 0)}</span>))}</span>}
      </div>
    );
  };
  const cellOf = (event: React.MouseEvent): { field: number; at: number } => {
    const cell = (event.target as HTMLElement).closest<HTMLElement>('[data-field]');
    return { field: cell ? Number(cell.dataset.field) : -1, at: cell ? Number(cell.dataset.at) : -1 };
  };
  return (
    <div className="grid" ref={box} data-columns={columns}>
      <VirtualList className="lines" count={lines.length} rowHeight={ROW} shown={shown} render={line}
        style={{ maxHeight: `calc(${Math.min(lines.length, MOST_LINES)} * ${ROW}px + 2px)`, height: lines.length * ROW + 2 }}
        role="group" tabIndex={0} id="octets" onKeyDown={onKey}
        aria-label={`${counted(frame.size, 'octet')} on the wire. The arrow keys go from field to field.`}
        aria-describedby="field"
        onMouseMove={(event) => { const { field } = cellOf(event); if (field >= 0) onPoint(field); }}
        onMouseLeave={() => onPoint(-1)}
        onClick={(event) => { const { field, at } = cellOf(event); if (field >= 0) onPin(field, at); }} />
      <p className="legend" aria-hidden="true"><i className="octet layer-marker" /> marker
        <i className="octet layer-mpa pad" /> PAD <i className="octet layer-mpa crc" /> CRC
        <i className="octet bad" /> breaks a rule
        {damage.size > 0 && <><i className="octet damaged" /> damaged in flight</>}</p>
    </div>
  );
}

/** Shows the bits of an octet that has several fields, as one strip. Each field is a part of the strip, and the
 * user can point at it. */
function Bits({ field, fields, frame, onPoint, onPin }: {
  field: Field; fields: Field[]; frame: Frame; onPoint: (field: number) => void; onPin: (field: number) => void;
}): JSX.Element {
  const octet = octetsOf(frame);
  const { begin, size } = field.ranges[0];
  const parts = fields.filter((f) => f.bits > 0 && f.ranges[0].begin === begin);
  const value = (bit: number): number => ((octet(begin + Math.floor(bit / 8)) ?? 0) >> (7 - (bit % 8))) & 1;
  return (
    <div className="bits" role="group" aria-label={`Bits of ${counted(size, 'octet')} at ${begin}`}>
      {parts.map((part) => (
        <button key={part.index} type="button" aria-pressed={part.index === field.index}
          className={`layer-${part.layer}${part.index === field.index ? ' lit' : ''}`}
          onMouseEnter={() => onPoint(part.index)} onMouseLeave={() => onPoint(-1)} onFocus={() => onPoint(part.index)}
          onClick={() => onPin(part.index)} style={{ flexGrow: part.bits }}>
          <code>{Array.from({ length: part.bits }, (_, i) => value(part.firstBit + i)).join('')}</code>
          <small>{part.name}</small>
        </button>
      ))}
    </div>
  );
}

function Told({ field, fields, frame, onPoint, onPin }: {
  field: Field | undefined; fields: Field[]; frame: Frame; onPoint: (field: number) => void; onPin: (field: number) => void;
}): JSX.Element {
  return (
    <div className="told" id="field" aria-live="polite">
      {field ? (
        <>
          <p><b className={`name layer-${field.layer}`}>{field.name}</b> <output>{field.value}</output></p>
          <p className="where">{nameOf(field.layer)} · {field.section} · {wholeOf(field) === 1 ? 'octet' : 'octets'} {placesOf(field)}
            {field.bits > 0 && (field.bits === 1 ? `, bit ${field.firstBit}` : `, bits ${field.firstBit} to ${field.firstBit + field.bits - 1}`)}</p>
          <p className="why">{field.why}</p>
          {field.bits > 0 && <Bits {...{ field, fields, frame, onPoint, onPin }} />}
        </>
      ) : <p className="where">Point at an octet or a field, or press Tab and the arrow keys.</p>}
    </div>
  );
}

function FieldList({ fields, folded, lit, bad, onPoint, onPin, onFold }: {
  fields: Field[]; folded: ReadonlySet<Layer>; lit: number; bad: ReadonlySet<number>;
  onPoint: (field: number) => void; onPin: (field: number) => void; onFold: (layer: Layer) => void;
}): JSX.Element {
  const box = React.useRef<HTMLDivElement>(null);
  React.useLayoutEffect(() => {
    const list = box.current;
    const row = list?.querySelector<HTMLElement>('button.lit');
    if (!list || !row || list.matches(':hover')) return;
    const above = row.offsetTop - list.offsetTop;
    if (above < list.scrollTop || above + row.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = above - list.clientHeight / 3;
    }
  }, [lit, fields]);
  return (
    <div className="fields" ref={box} onMouseLeave={() => onPoint(-1)}>
      {LAYERS.map(({ layer, name }, number) => {
        const mine = fields.filter((field) => field.layer === layer);
        if (mine.length === 0) return null;
        const open = !folded.has(layer);
        return (
          <section key={layer} aria-label={name}>
            <h3><button type="button" className={`fold layer-${layer}`} aria-expanded={open}
              onClick={() => onFold(layer)}>{open ? '▾' : '▸'} {name} <kbd>{number + 1}</kbd></button></h3>
            {open && <ul>{mine.map((field) => (
              <li key={field.index}>
                <button type="button" data-field={field.index} tabIndex={-1}
                  className={`${field.index === lit ? 'lit' : ''}${bad.has(field.index) ? ' bad' : ''}`}
                  onMouseEnter={() => onPoint(field.index)} onClick={() => onPin(field.index)}>
                  <span>{field.name}</span><output>{field.value}</output>
                </button>
              </li>))}
            </ul>}
          </section>
        );
      })}
    </div>
  );
}

interface Props {
  session: Session; frame: Frame; folded: ReadonlySet<Layer>; onFold: (layer: Layer) => void;
  /** Number of octets of the frame that have arrived; undefined if all have arrived. */
  arrived?: number;
  /** Octets of the frame that were damaged in flight: maps the index of an octet to the bits that were flipped. */
  damage?: ReadonlyMap<number, number>;
  /** Name of the field that is initially highlighted and scrolled into view. */
  lead?: string;
  /** Called with the index of an octet when the user clicks this octet. */
  onOctet?: (at: number) => void;
}

const NO_DAMAGE: ReadonlyMap<number, number> = new Map();

/** Returns the fields that violate a rule in this frame, if the model names them. */
function badFields(frame: Frame, fields: Field[]): Set<number> {
  const rows = new Set((frame.violations ?? []).map((v) => v.field));
  return new Set(fields.filter((f) => rows.has(f.row)).map((f) => f.index));
}

export function Octets({ session, frame, folded, onFold, arrived = Infinity, damage = NO_DAMAGE, lead, onOctet }: Props): JSX.Element {
  const fields = React.useMemo(() => fieldsOf(session, frame), [session, frame]);
  const bad = React.useMemo(() => badFields(frame, fields), [frame, fields]);
  const [pinned, pin] = React.useState(-1);
  const [pointed, point] = React.useState(-1);
  React.useEffect(() => {
    pin(fields.findIndex((field) => field.name === lead));
    point(-1);
  }, [fields, lead]);
  const box = React.useRef<HTMLDivElement>(null);
  React.useEffect(() => {
    if (lead !== undefined && fields[pinned]?.name === lead) {
      box.current?.querySelector('.lines')?.scrollIntoView({ block: 'nearest' });
    }
  }, [fields, lead, pinned]);
  const now = pointed >= 0 ? pointed : pinned;
  const lit = now < fields.length ? now : -1;
  const onKey = (event: React.KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const open = fields.filter((field) => !folded.has(field.layer));
    if (open.length === 0) return;
    const at = open.findIndex((field) => field.index === lit);
    let next: number;
    if (event.key in steps) next = at < 0 ? 0 : Math.min(Math.max(at + steps[event.key], 0), open.length - 1);
    else if (event.key === 'Home') next = 0;
    else if (event.key === 'End') next = open.length - 1;
    else return;
    event.preventDefault();
    event.stopPropagation();
    point(-1);
    pin(open[next].index);
  };
  return (
    <div className="octets" ref={box}>
      <Grid {...{ frame, fields, folded, lit, bad, arrived, damage, onKey }} onPoint={point} onUnfold={onFold}
        onPin={(field, at) => { pin(field); onOctet?.(at); }} />
      <Told field={lit < 0 ? undefined : fields[lit]} {...{ fields, frame }} onPoint={point} onPin={pin} />
      <FieldList {...{ fields, folded, lit, bad, onFold }} onPoint={point} onPin={pin} />
    </div>
  );
}
