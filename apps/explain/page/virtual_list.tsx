// SPDX-License-Identifier: Apache-2.0
// A list of any length. All rows have the same height, and the DOM contains only the visible rows and
// their neighbours. When the page is printed, the DOM contains all rows, up to a number that a browser can handle.
import * as React from 'react';

const MARGIN = 8; // number of hidden rows in the DOM above the visible rows, and also below them
const MOST_ON_PAPER = 2000;

/** Returns whether the page is being printed. */
export function usePrinting(): boolean {
  const [printing, setPrinting] = React.useState(false);
  React.useEffect(() => {
    const paper = window.matchMedia('print');
    const follow = () => setPrinting(paper.matches);
    const before = () => setPrinting(true);
    const behind = () => setPrinting(false);
    paper.addEventListener('change', follow);
    window.addEventListener('beforeprint', before);
    window.addEventListener('afterprint', behind);
    return () => {
      paper.removeEventListener('change', follow);
      window.removeEventListener('beforeprint', before);
      window.removeEventListener('afterprint', behind);
    };
  }, []);
  return printing;
}

/** Returns the width of an element, and updates it when the element is resized. */
export function useWidth(element: React.RefObject<HTMLElement>): number {
  const [width, setWidth] = React.useState(0);
  React.useLayoutEffect(() => {
    const node = element.current;
    if (!node) return undefined;
    setWidth(node.clientWidth);
    const observer = new ResizeObserver(() => setWidth(node.clientWidth));
    observer.observe(node);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

interface Props extends Omit<React.HTMLAttributes<HTMLDivElement>, 'children'> {
  count: number;
  rowHeight: number;
  /** Index of a row. When it changes, the list scrolls this row into view. */
  shown?: number;
  render: (index: number) => React.ReactNode;
}

export const VirtualList = React.forwardRef<HTMLDivElement, Props>(function VirtualList(
  { count, rowHeight, shown, render, ...rest }, outer) {
  const own = React.useRef<HTMLDivElement>(null);
  React.useImperativeHandle(outer, () => own.current as HTMLDivElement);
  const [top, setTop] = React.useState(0);
  const [height, setHeight] = React.useState(600);
  const printing = usePrinting();

  React.useLayoutEffect(() => {
    const node = own.current;
    if (!node) return undefined;
    const measure = () => setHeight(node.clientHeight);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(node);
    return () => observer.disconnect();
  }, []);

  React.useLayoutEffect(() => {
    const node = own.current;
    if (!node || shown === undefined || shown < 0) return;
    const begin = shown * rowHeight;
    if (begin < node.scrollTop) node.scrollTop = begin;
    else if (begin + rowHeight > node.scrollTop + node.clientHeight) {
      node.scrollTop = begin + rowHeight - node.clientHeight;
    }
  }, [shown, rowHeight, count]);

  const first = printing ? 0 : Math.max(0, Math.floor(top / rowHeight) - MARGIN);
  const behind = printing ? Math.min(count, MOST_ON_PAPER)
    : Math.min(count, Math.ceil((top + height) / rowHeight) + MARGIN);
  const rows = [];
  for (let i = first; i < behind; i += 1) rows.push(render(i));
  return (
    <div {...rest} ref={own} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
      <div className="all" role="presentation" style={{ height: (printing ? behind : count) * rowHeight }}>
        <div role="presentation" style={{ transform: `translateY(${first * rowHeight}px)` }}>{rows}</div>
      </div>
      {printing && behind < count && <p>{count - behind} more are not printed.</p>}
    </div>
  );
});
