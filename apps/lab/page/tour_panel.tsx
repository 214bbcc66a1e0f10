// SPDX-License-Identifier: Apache-2.0
// The tour: a bar with its stops, and the text of the current beat, which is shown in the column that it explains.
import * as React from 'react';
import { Part, TOUR, partsOf } from './tour';

export interface Place { stop: number; beat: number }

/** Returns the next or the previous place in the tour, or null if there is none. */
export function neighbour({ stop, beat }: Place, way: 1 | -1): Place | null {
  const to = beat + way;
  if (to >= 0 && to < TOUR[stop].beats.length) return { stop, beat: to };
  const there = TOUR[stop + way];
  return there ? { stop: stop + way, beat: way > 0 ? 0 : there.beats.length - 1 } : null;
}

/** Scrolls a part of the page into view. Opens the part first if it is collapsed. */
function bringUp(part: Part): void {
  const found = document.querySelector(part.at);
  if (found instanceof HTMLDetailsElement) found.open = true;
  found?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

/** Highlights the parts of the page that this beat mentions, and scrolls them into view. The first part in the list
 * is the most important one, so the page scrolls to it last. */
function useParts(place: Place | null): void {
  React.useEffect(() => {
    if (!place) return undefined;
    const parts = partsOf(TOUR[place.stop].beats[place.beat]);
    const found = parts.flatMap((part) => [...document.querySelectorAll(part.at)]);
    for (const one of found) one.toggleAttribute('data-shown', true);
    // The observer calls bringUp() when the parts have been laid out, and again when the user opens a part.
    const sizes = new ResizeObserver(() => [...parts].reverse().forEach(bringUp));
    for (const one of [...found, ...document.querySelectorAll('.wire .open')]) sizes.observe(one);
    return () => {
      sizes.disconnect();
      for (const one of found) one.toggleAttribute('data-shown', false);
    };
  }, [place]);
}

export function TourBar({ place, go }: { place: Place | null; go: (place: Place | null) => void }): JSX.Element {
  useParts(place);
  return (
    <nav className={`tour${place ? ' taken' : ''}`} aria-label="Guided tour">
      <ol>{TOUR.map((stop, i) => (
        <li key={stop.title}><button type="button" aria-current={place?.stop === i ? 'step' : undefined} data-stop={i}
          onClick={() => go({ stop: i, beat: 0 })}>{i + 1} {stop.title}</button></li>))}</ol>
      {place && <button type="button" onClick={() => go(null)}>End the tour</button>}
    </nav>
  );
}

export function Speech({ place, go }: { place: Place; go: (place: Place) => void }): JSX.Element {
  const now = TOUR[place.stop];
  const before = neighbour(place, -1);
  const next = neighbour(place, 1);
  const parts = partsOf(now.beats[place.beat]);
  return (
    <section className="beat" aria-label="Text of the tour" aria-live="polite">
      <p className="where">{place.stop + 1} · {now.title}, {place.beat + 1} of {now.beats.length}</p>
      <p className="says">{now.beats[place.beat].says}</p>
      {parts.length > 0 && <p className="parts">Look at {parts.map((part) => (
        <button key={part.at} type="button" data-part={part.at} onClick={() => bringUp(part)}>{part.name}</button>))}</p>}
      <div className="buttons">
        <button type="button" disabled={!before} onClick={() => before && go(before)}>◀ Back</button>
        <button type="button" className="main" data-next disabled={!next} onClick={() => next && go(next)}>{before ? 'Next' : 'Begin'} ▶</button>
      </div>
    </section>
  );
}
