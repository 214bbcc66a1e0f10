// SPDX-License-Identifier: Apache-2.0
// The tour beside the session: where it is, what is to be seen, on and back.
import * as React from 'react';
import { TOUR } from './tour';

export interface Place { stop: number; beat: number }

/** The next place, or the one before; none at the ends. */
export function neighbour({ stop, beat }: Place, way: 1 | -1): Place | null {
  const to = beat + way;
  if (to >= 0 && to < TOUR[stop].beats.length) return { stop, beat: to };
  const there = TOUR[stop + way];
  return there ? { stop: stop + way, beat: way > 0 ? 0 : there.beats.length - 1 } : null;
}

export function TourPanel({ place, go }: { place: Place | null; go: (place: Place | null) => void }): JSX.Element {
  const now = place && TOUR[place.stop];
  const before = place && neighbour(place, -1);
  const next = place && neighbour(place, 1);
  return (
    <section className="box tour" aria-label="Guided tour">
      <h2>A tour of seven stops{place && <button type="button" onClick={() => go(null)}>leave</button>}</h2>
      <ol>{TOUR.map((stop, i) => (
        <li key={stop.title}><button type="button" aria-current={place?.stop === i ? 'step' : undefined} data-stop={i}
          onClick={() => go({ stop: i, beat: 0 })}>{stop.title}</button></li>))}</ol>
      {place && now && (
        <div className="beat" aria-live="polite">
          <p className="where">{place.stop + 1} · {now.title}, {place.beat + 1} of {now.beats.length}</p>
          <p className="says">{now.beats[place.beat].says}</p>
          <div className="buttons">
            <button type="button" disabled={!before} onClick={() => before && go(before)}>◀ Back</button>
            <button type="button" className="main" data-next disabled={!next} onClick={() => next && go(next)}>Next ▶</button>
          </div>
        </div>)}
    </section>
  );
}
