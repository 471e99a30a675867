// Places the visible part of a graph from top to bottom: each open group by itself, from the inside out,
// then as one box in the group around it.
import { arrange, type Point } from "./arrange";
import { caption, type FoldedGraph, type GEdge, type GNode, type Group } from "./graph";

export interface Box {
  id: string;
  x: number; // of the top left corner
  y: number;
  width: number;
  height: number;
  node: GNode | null;
  group: Group | null; // closed, or open around others
  open: boolean;
  depth: number;
}

export interface Wire {
  id: string;
  from: Box;
  to: Box;
  tensor: number;
  route: Point[]; // where it passes on its way
}

export interface Layout {
  boxes: Box[]; // groups before what is in them
  wires: Wire[];
  width: number;
  height: number;
  box_of: Map<string, Box>;
}

const node_height = 30;
const padding = 14;
const title = 24;
const text_width = (text: string) => Math.min(230, 26 + 6.6 * text.length);
// Of a closed group, with the sign that opens it.
const bold_width = (text: string) => Math.min(260, 34 + 7.5 * text.length);

interface Item {
  id: string;
  width: number;
  height: number;
  node: GNode | null;
  group: Group | null;
  inner: Placed | null;
}
interface Placed {
  items: { item: Item; x: number; y: number }[];
  routes: Map<string, Point[]>; // of wires between items
  width: number;
  height: number;
}

export function lay_out(graph: FoldedGraph, open: Set<string>): Layout {
  // The item that shows a node on the level of a group: the node itself or the group around it there.
  const representative = (node: GNode, level: Group): string | null => {
    if (node.group === level) return node.id;
    for (let at: Group | null = node.group; at; at = at.parent) if (at.parent === level) return at.id;
    return null;
  };
  const is_open = (group: Group) => open.has(group.id);
  // Edges by the level on which both ends are items.
  const levels = new Map<Group, Map<string, [string, string]>>();
  const wires_of = (level: Group): Map<string, [string, string]> => {
    let wires = levels.get(level);
    if (!wires) levels.set(level, (wires = new Map()));
    return wires;
  };
  const ways = new Map<GEdge, string[]>(); // the keys of an edge's wires on each level that it passes
  const chain = (node: GNode): Group[] => {
    const list: Group[] = [];
    for (let at: Group | null = node.group; at; at = at.parent) list.push(at);
    return list.reverse();
  };
  for (const edge of graph.edges) {
    const a = chain(edge.from), b = chain(edge.to);
    let depth = 0;
    while (depth + 1 < a.length && depth + 1 < b.length && a[depth + 1] === b[depth + 1]) ++depth;
    const level = a[depth]!;
    const from = representative(edge.from, level), to = representative(edge.to, level);
    if (!from || !to || from === to) continue;
    const way: string[] = [];
    const pass = (inside: Group, begin: string | null, end: string | null) => {
      if (!begin || !end) return;
      wires_of(inside).set(`${begin} ${end}`, [begin, end]);
      way.push(`${begin} ${end}`);
    };
    // Out of the groups around one end, across, and into those around the other.
    for (const group of a.slice(depth + 1).reverse()) pass(group, representative(edge.from, group), `out:${group.id}`);
    pass(level, from, to);
    for (const group of b.slice(depth + 1)) pass(group, `in:${group.id}`, representative(edge.to, group));
    ways.set(edge, way);
  }
  const place = (group: Group): Placed => {
    const items: Item[] = group.nodes.map((node) => ({
      id: node.id, node, group: null, inner: null, height: node_height,
      width: text_width(caption(node)),
    }));
    for (const inner of group.groups) {
      if (is_open(inner)) {
        const placed = place(inner);
        items.push({ id: inner.id, node: null, group: inner, inner: placed, width: Math.max(placed.width + 2 * padding, text_width(inner.label)), height: placed.height + 2 * padding + title });
      } else {
        items.push({ id: inner.id, node: null, group: inner, inner: null, width: Math.max(90, bold_width(`${inner.label} · ${inner.size}`)), height: node_height + 6 });
      }
    }
    // Where wires enter and leave, so that they find their way around what is inside.
    const ends = ["in", "out"].map((end): Item => ({ id: `${end}:${group.id}`, width: 2, height: 0, node: null, group: null, inner: null }));
    return place_items(items, group.parent ? ends : [], [...(levels.get(group)?.values() ?? [])]);
  };
  const whole = place(graph.root);
  const boxes: Box[] = [];
  const box_of = new Map<string, Box>();
  const routes = new Map<string, Point[]>();
  const emit = (placed: Placed, x: number, y: number, depth: number) => {
    for (const [wire, points] of placed.routes) routes.set(wire, points.map((point) => ({ x: x + point.x, y: y + point.y })));
    for (const { item, x: dx, y: dy } of placed.items) {
      const box: Box = { id: item.id, x: x + dx, y: y + dy, width: item.width, height: item.height, node: item.node, group: item.group, open: item.inner !== null, depth };
      boxes.push(box);
      box_of.set(box.id, box);
      if (item.inner) emit(item.inner, box.x + (item.width - item.inner.width) / 2, box.y + padding + title, depth + 1);
    }
  };
  emit(whole, padding, padding, 0);
  // Wires end at what is visible.
  const visible = (node: GNode): Box | undefined => {
    let shown = box_of.get(node.id);
    for (let at: Group | null = node.group; at && !shown; at = at.parent) shown = box_of.get(at.id);
    return shown;
  };
  const wires = new Map<string, Wire>();
  for (const edge of graph.edges) {
    const from = visible(edge.from), to = visible(edge.to);
    if (from && to && from !== to) wires.set(`${from.id} ${to.id}`, { id: `${from.id} ${to.id}`, from, to, tensor: edge.tensor, route: (ways.get(edge) ?? []).flatMap((key) => routes.get(key) ?? []) });
  }
  return { boxes, wires: [...wires.values()], width: whole.width + 2 * padding, height: whole.height + 2 * padding, box_of };
}

function place_items(items: Item[], ends: Item[], edges: [string, string][]): Placed {
  const used = ends.filter((end) => edges.some(([from, to]) => from === end.id || to === end.id));
  const { places, routes, width, height } = arrange([...items, ...used], edges);
  return { items: items.map((item, i) => ({ item, ...places[i]! })), routes, width, height };
}
