// SPDX-License-Identifier: Apache-2.0
// Checks for all pages, run in a browser: text must be readable, and nothing may overflow.

const TEXT_CONTRAST = 4.5; // minimum for text (WCAG 2)
const SHAPE_CONTRAST = 3; // minimum for graphics (WCAG 2)

/** Returns texts, and shapes that match the selector `shapes`, with too little contrast to their background. */
export const unreadable = (view, shapes = 'none') => view.evaluate(([leastOfText, leastOfShape, selector]) => {
  const numbers = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = numbers(colour).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      const [, , , alpha = 1] = numbers(colour);
      if (alpha > 0.5) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const out = new Set();
  const check = (element, colour, least) => {
    const [ink, ground] = [luminance(colour), luminance(behind(element))];
    const contrast = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    const where = `${element.closest('figure')?.id ?? ''} ${element.tagName}.${element.getAttribute('class')}`;
    if (contrast < least) out.add(`${where}: ${colour} has a contrast of ${contrast.toFixed(1)}`);
  };
  for (const element of document.querySelectorAll('body *')) {
    const direct = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== '');
    if (!direct || !element.checkVisibility() || element.closest('.hidden, select')) continue;
    const style = getComputedStyle(element);
    check(element, element.closest('svg') ? style.fill : style.color, leastOfText);
  }
  for (const element of document.querySelectorAll(selector)) {
    const style = getComputedStyle(element);
    const colour = style.fill === 'none' ? style.stroke : style.fill;
    if (colour !== 'none' && Number(style.fillOpacity) === 1) check(element, colour, leastOfShape);
  }
  return [...out];
}, [TEXT_CONTRAST, SHAPE_CONTRAST, shapes]);

/** Returns elements that overflow the page, and buttons without a name. */
export const misplaced = (view) => view.evaluate(() => {
  const out = [];
  const room = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > room) out.push(`the page is ${document.documentElement.scrollWidth} wide where there are ${room}`);
  for (const octet of document.querySelectorAll('.octet[data-at]')) {
    const [cell, box] = [octet.getBoundingClientRect(), octet.closest('.lines').getBoundingClientRect()];
    if (cell.right > box.right + 1) { out.push(`octet ${octet.dataset.at} is cut off`); break; }
  }
  for (const button of document.querySelectorAll('button')) if (!button.textContent.trim()) out.push('a button without a name');
  return out;
});
