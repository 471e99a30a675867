// How much of an element, from its top, is in the window; all of it where hardly anything is.
export function visible_height(element: HTMLElement): number {
  const shown = innerHeight - element.getBoundingClientRect().top;
  return shown < 120 ? element.clientHeight : Math.min(shown, element.clientHeight);
}
