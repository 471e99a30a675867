// Places the visible part of a graph from top to bottom: each open group by itself, from the inside out,
// then as one box in the group around it.
import dagre from "@dagrejs/dagre";
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

export interface Point {
  x: number;
  y: number;
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
  const route_of = new Map<GEdge, string>();
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
    let wires = levels.get(level);
    if (!wires) levels.set(level, (wires = new Map()));
    wires.set(`${from} ${to}`, [from, to]);
    route_of.set(edge, `${from} ${to}`);
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
        items.push({ id: inner.id, node: null, group: inner, inner: null, width: Math.max(90, text_width(`${inner.label} · ${inner.size}`)), height: node_height + 6 });
      }
    }
    return arrange(items, [...(levels.get(group)?.values() ?? [])]);
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
    if (from && to && from !== to) wires.set(`${from.id} ${to.id}`, { id: `${from.id} ${to.id}`, from, to, tensor: edge.tensor, route: routes.get(route_of.get(edge) ?? "") ?? [] });
  }
  return { boxes, wires: [...wires.values()], width: whole.width + 2 * padding, height: whole.height + 2 * padding, box_of };
}

function arrange(items: Item[], edges: [string, string][]): Placed {
  if (items.length > 150) return in_layers(items, edges);
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 22, ranksep: 30, edgesep: 10, ranker: items.length > 40 ? "longest-path" : "network-simplex" });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const item of items) graph.setNode(item.id, { width: item.width, height: item.height });
  for (const [from, to] of edges) if (graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to);
  dagre.layout(graph);
  const placed = items.map((item) => {
    const at = graph.node(item.id);
    return { item, x: at.x - item.width / 2, y: at.y - item.height / 2 };
  });
  // The first and the last point are on the borders of the items, which wires may pass through.
  const routes = new Map<string, Point[]>();
  for (const [from, to] of edges) {
    const points = graph.hasNode(from) && graph.hasNode(to) ? (graph.edge(from, to)?.points ?? []) : [];
    if (points.length > 3) routes.set(`${from} ${to}`, points.slice(1, -1));
  }
  return bounded(placed, routes);
}

// For very many on one level: layers by the longest way, ordered once by where their inputs are.
function in_layers(items: Item[], edges: [string, string][]): Placed {
  const rank = new Map(items.map((item) => [item.id, 0]));
  const inputs = new Map<string, string[]>();
  for (const [from, to] of edges) inputs.set(to, [...(inputs.get(to) ?? []), from]);
  for (let round = 0, changed = true; changed && round < items.length; ++round) {
    changed = false;
    for (const [from, to] of edges) {
      const next = rank.get(from)! + 1;
      if (rank.get(to)! < next && next < items.length) {
        rank.set(to, next);
        changed = true;
      }
    }
  }
  const layers: Item[][] = [];
  for (const item of items) (layers[rank.get(item.id)!] ??= []).push(item);
  const centre = new Map<string, number>();
  const placed: Placed["items"] = [];
  let y = 0;
  for (const layer of layers.filter(Boolean)) {
    const wish = (item: Item) => {
      const known = (inputs.get(item.id) ?? []).map((id) => centre.get(id)).filter((value): value is number => value !== undefined);
      return known.length ? known.reduce((a, b) => a + b) / known.length : 0;
    };
    layer.sort((a, b) => wish(a) - wish(b));
    const width = layer.reduce((sum, item) => sum + item.width + 22, -22);
    let x = layer.reduce((sum, item) => sum + wish(item), 0) / layer.length - width / 2;
    for (const item of layer) {
      placed.push({ item, x, y });
      centre.set(item.id, x + item.width / 2);
      x += item.width + 22;
    }
    y += Math.max(...layer.map((item) => item.height)) + 30;
  }
  return bounded(placed);
}

function bounded(items: Placed["items"], routes = new Map<string, Point[]>()): Placed {
  if (items.length === 0) return { items, routes, width: 0, height: 0 };
  const left = Math.min(...items.map(({ x }) => x)), top = Math.min(...items.map(({ y }) => y));
  const moved = items.map(({ item, x, y }) => ({ item, x: x - left, y: y - top }));
  return {
    items: moved,
    routes: new Map([...routes].map(([wire, points]) => [wire, points.map((point) => ({ x: point.x - left, y: point.y - top }))])),
    width: Math.max(...moved.map(({ item, x }) => x + item.width)),
    height: Math.max(...moved.map(({ item, y }) => y + item.height)),
  };
}
