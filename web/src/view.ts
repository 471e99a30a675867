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
