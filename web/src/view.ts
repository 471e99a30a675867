// Which part of a graph is in view, and how large.

export interface View {
  x: number;
  y: number;
  k: number;
}

export interface Size {
  width: number;
  height: number;
}

export const is_whole = (view: View, window: Size, graph: Size): boolean => graph.width * view.k <= window.width && graph.height * view.k <= window.height;

export const least_scale = 10 / 12; // labels of 12 pixels stay readable

// The whole of the graph, or, where that could not be read, what is around the target, else its first part.
export function fit_view(window: Size, graph: Size, target?: Size & { x: number; y: number }): View {
  const k = Math.min(1, Math.max(least_scale, Math.min(window.width / graph.width, window.height / graph.height)));
  const along = (room: number, whole: number, middle: number | null, begin: number): number => {
    if (whole <= room) return (room - whole) / 2;
    return middle === null ? begin : Math.min(0, Math.max(room - whole, room / 2 - middle));
  };
  const [width, height] = [graph.width * k, graph.height * k];
  return {
    k,
    x: along(window.width, width, target ? (target.x + target.width / 2) * k : null, (window.width - width) / 2),
    y: along(window.height, height, target ? (target.y + target.height / 2) * k : null, 0),
  };
}
