// The graph as it is looked at: quantizers folded into the node whose tensor they round, constants left
// out, modules and subgraphs as groups.
import type { GraphData } from "./data";
import { find_repeats } from "./modules";

export interface GNode {
  index: number; // in the data; -1 for an input or output of the model
  id: string;
  op: string;
  label: string;
  quantized: boolean; // a quantizer is folded into it
  weights: string[];
  module: string; // that it alone is, if any
  group: Group;
}

export interface Group {
  id: string; // "g:path"; "g:" is the whole
  label: string;
  parent: Group | null;
  groups: Group[];
  nodes: GNode[];
  owner: GNode | null; // the If, Loop or Scan whose subgraphs are inside
  size: number; // nodes in it, at any depth
}

export interface GEdge {
  from: GNode;
  to: GNode;
  tensor: number;
}

export interface FoldedGraph {
  root: Group;
  nodes: GNode[];
  by_index: Map<number, GNode>; // folded nodes too: the node that they belong to
  groups: Map<string, Group>;
  edges: GEdge[];
}

const is_quantize = (op: string) => op === "QuantizeLinear" || op === "DequantizeLinear";

export function fold_graph(data: GraphData): FoldedGraph {
  const root: Group = { id: "g:", label: "", parent: null, groups: [], nodes: [], owner: null, size: 0 };
  const groups = new Map<string, Group>([[root.id, root]]);
  const child = (parent: Group, part: string): Group => {
    const id = parent === root ? `g:${part}` : `${parent.id}.${part}`;
    let group = groups.get(id);
    if (!group) {
      group = { id, label: part, parent, groups: [], nodes: [], owner: null, size: 0 };
      groups.set(id, group);
      parent.groups.push(group);
    }
    return group;
  };

  // What a tensor is, through quantizers: the tensor before them.
  const producer = new Map<number, number>();
  data.nodes.forEach((node, index) => node.out.forEach((tensor) => tensor >= 0 && producer.set(tensor, index)));
  const weights = new Set(data.weights);
  const quantized = new Set<number>();
  const origin = (tensor: number): number => {
    for (let hops = 0; hops < 16; ++hops) {
      const maker = producer.get(tensor);
      if (maker === undefined || !is_quantize(data.nodes[maker]!.op)) return tensor;
      const before = data.nodes[maker]!.in[0];
      if (before === undefined || before < 0) return tensor;
      if (data.nodes[maker]!.op === "QuantizeLinear") quantized.add(before);
      tensor = before;
    }
    return tensor;
  };
  data.nodes.forEach((node) => node.in.forEach((tensor) => tensor >= 0 && origin(tensor)));
  data.graphs.forEach((graph) => graph.outputs.forEach((tensor) => origin(tensor)));
  // What is computed from weights alone is a constant too.
  const owners = new Set(data.graphs.map((graph) => graph.owner));
  const constants = new Map<number, boolean>();
  const is_constant = (tensor: number): boolean => {
    const maker = producer.get(tensor);
    return weights.has(tensor) || (maker !== undefined && is_constant_node(maker));
  };
  const is_constant_node = (index: number): boolean => {
    const known = constants.get(index);
    if (known !== undefined) return known;
    constants.set(index, false); // while it is looked at
    const { op, in: inputs } = data.nodes[index]!;
    const given = inputs.filter((tensor) => tensor >= 0);
    const found = op === "Constant" || (given.length > 0 && !owners.has(index) && given.every(is_constant));
    constants.set(index, found);
    return found;
  };
  const hidden = data.nodes.map((node, index) => is_quantize(node.op) || is_constant_node(index));

  const nodes: GNode[] = [];
  const by_index = new Map<number, GNode>();
  const blocks = nameless_blocks(data, hidden);
  const add = (group: Group, index: number, op: string, label: string, id: string): GNode => {
    const made: GNode = { index, id, op, label, quantized: false, weights: [], module: "", group };
    group.nodes.push(made);
    nodes.push(made);
    return made;
  };
  const inputs = new Map<number, GNode>();
  const main = data.graphs[0];
  for (const tensor of main?.inputs ?? []) inputs.set(tensor, add(root, -1, "input", data.tensors[tensor]!, `i:${tensor}`));

  // Subgraphs are groups inside the group of their owner's.
  const owner_group = (graph: number): Group => {
    const owner = data.graphs[graph]!.owner;
    if (graph === 0 || owner === undefined) return root;
    const around = by_index.get(owner)?.group ?? root;
    const whole = child(around, data.nodes[owner]!.name);
    whole.owner = by_index.get(owner) ?? null;
    whole.label = data.nodes[owner]!.op;
    return child(whole, data.graphs[graph]!.name || `graph ${graph}`);
  };
  const homes = new Map<number, Group>();
  data.nodes.forEach((node, index) => {
    if (hidden[index]) return;
    if (!homes.has(node.graph)) homes.set(node.graph, owner_group(node.graph));
    let group = homes.get(node.graph)!;
    const path = node.module ? node.module.split(".") : (blocks.get(index) ?? []);
    for (const part of path) group = child(group, part);
    const made = add(group, index, node.op, node.name, `n:${index}`);
    made.quantized = node.out.some((tensor) => quantized.has(tensor));
    made.weights = node.in.filter((tensor) => tensor >= 0 && is_constant(origin(tensor))).map((tensor) => data.tensors[origin(tensor)]!);
    by_index.set(index, made);
  });
  // A node that is folded belongs to what makes its tensor, or else to what reads it.
  const readers = new Map<number, number>();
  data.nodes.forEach((node, index) => node.in.forEach((tensor) => tensor >= 0 && !readers.has(tensor) && readers.set(tensor, index)));
  data.nodes.forEach((node, index) => {
    if (!hidden[index]) return;
    const before = node.in[0] === undefined ? undefined : producer.get(origin(node.in[0]));
    let reader = readers.get(node.out[0] ?? -1);
    for (let hops = 0; hops < 4 && reader !== undefined && hidden[reader]; ++hops) reader = readers.get(data.nodes[reader]!.out[0] ?? -1);
    const target = (before === undefined ? undefined : by_index.get(before)) ?? (reader === undefined ? undefined : by_index.get(reader));
    if (target) by_index.set(index, target);
  });

  const edges: GEdge[] = [];
  const seen = new Set<string>();
  const connect = (from: GNode | undefined, to: GNode, tensor: number) => {
    if (!from || from === to) return;
    const key = `${from.id} ${to.id}`;
    if (seen.has(key)) return;
    seen.add(key);
    edges.push({ from, to, tensor });
  };
  const maker_of = (tensor: number): GNode | undefined => {
    const before = origin(tensor);
    const index = producer.get(before);
    return index === undefined ? inputs.get(before) : by_index.get(index);
  };
  data.nodes.forEach((node, index) => {
    if (hidden[index]) return;
    const to = by_index.get(index)!;
    for (const tensor of node.in) if (tensor >= 0 && !is_constant(origin(tensor))) connect(maker_of(tensor), to, tensor);
  });
  for (const tensor of main?.outputs ?? []) {
    const output = add(root, -1, "output", data.tensors[tensor]!, `o:${tensor}`);
    connect(maker_of(tensor), output, tensor);
  }
  // A module of one node is that node; one that is called in several places is each of these.
  const is_joined = (group: Group) => edges.some(({ from, to }) => from.group === group && to.group === group);
  const hoist = (group: Group) => {
    for (const inner of [...group.groups]) {
      hoist(inner);
      if (inner.nodes.length === 0 || inner.groups.length > 0 || inner.owner || group.owner) continue;
      if (inner.nodes.length > 1 && is_joined(inner)) continue;
      for (const node of inner.nodes) {
        node.module = node.module ? `${inner.label}.${node.module}` : inner.label;
        node.group = group;
        group.nodes.push(node);
      }
      group.groups.splice(group.groups.indexOf(inner), 1);
      groups.delete(inner.id);
    }
  };
  hoist(root);
  const count = (group: Group): number => (group.size = group.nodes.length + group.groups.reduce((sum, inner) => sum + count(inner), 0));
  count(root);
  return { root, nodes, by_index, groups, edges };
}

// Where hardly a node says which module it is of, blocks that repeat stand for modules.
function nameless_blocks(data: GraphData, hidden: boolean[]): Map<number, string[]> {
  const shown = data.nodes.map((_, index) => index).filter((index) => !hidden[index] && data.nodes[index]!.graph === 0);
  const named = shown.filter((index) => data.nodes[index]!.module).length;
  const found = new Map<number, string[]>();
  if (shown.length < 40 || named > shown.length / 4) return found;
  find_repeats(shown.map((index) => data.nodes[index]!.op)).forEach(({ begin, period, times }, which) => {
    for (let i = 0; i < period * times; ++i) found.set(shown[begin + i]!, [`blocks ${which + 1}`, `block ${Math.floor(i / period) + 1}`]);
  });
  return chunked(shown, found);
}

// What is long and still on one level is cut into stretches, so that it can be laid out and looked at.
function chunked(shown: number[], found: Map<number, string[]>): Map<number, string[]> {
  const left = shown.filter((index) => !found.has(index));
  if (left.length <= 400) return found;
  const length = 60;
  left.forEach((index, i) => found.set(index, [`nodes ${Math.floor(i / length) * length + 1} to ${Math.min(left.length, (Math.floor(i / length) + 1) * length)}`]));
  return found;
}

// What stands on a node: its operator, and the module that it alone is.
export function caption(node: GNode): string {
  if (node.index < 0) return node.label;
  return `${node.module ? `${node.module} · ` : ""}${node.op}${node.quantized ? " ◫" : ""}`;
}

export function ancestors(group: Group | null): Group[] {
  const list: Group[] = [];
  for (let at = group; at && at.parent; at = at.parent) list.push(at);
  return list;
}

const most_at_first = 45; // boxes

// The groups to open at first, from the outside in, as long as there are few boxes to look at.
export function opened_at_first(root: Group): string[] {
  const open: string[] = [];
  let shown = root.nodes.length + root.groups.length;
  const next = [...root.groups];
  for (let group = next.shift(); group; group = next.shift()) {
    const more = group.nodes.length + group.groups.length - 1;
    if (shown + more > most_at_first) continue;
    shown += more;
    open.push(group.id);
    next.push(...group.groups);
  }
  return open;
}
