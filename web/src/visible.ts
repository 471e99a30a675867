// How far the page is scrolled, and no further, until a good part of what reaches from top to bottom is in a
// window of this height.
export function distance_to(top: number, bottom: number, window: number): number {
  const wanted = Math.min(bottom - top, 0.6 * window, 480);
  if (top > window - wanted) return top - (window - wanted);
  return bottom < wanted ? bottom - wanted : 0;
}

export function reveal(element: HTMLElement | null): void {
  if (!element) return;
  const { top, bottom } = element.getBoundingClientRect();
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  scrollBy({ top: distance_to(top, bottom, innerHeight), behavior });
}

// How much of an element, from its top, is in the window; all of it where hardly anything is.
export function visible_height(element: HTMLElement): number {
  const shown = innerHeight - element.getBoundingClientRect().top;
  return shown < 120 ? element.clientHeight : Math.min(shown, element.clientHeight);
}
