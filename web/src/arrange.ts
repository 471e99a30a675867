// Boxes in layers, top to bottom (Sugiyama's method): every edge leads downwards, crossings are few, and what
// is connected is above each other. Edges that pass layers have places of their own there.

export interface Point {
  x: number;
  y: number;
}

export interface Sized {
  id: string;
  width: number;
  height: number;
}

export interface Arranged {
  places: Point[]; // of the boxes' top left corners
  routes: Map<string, Point[]>; // "from to": where an edge passes on its way
  width: number;
  height: number;
}

// A box, or an edge where it passes a layer.
interface Place {
  layer: number;
  width: number;
  height: number;
  box: number; // -1: of an edge
  x: number; // of the centre
  above: [Place, number][]; // neighbours with the weight of the edge
  below: [Place, number][];
}

const gap = 22; // between boxes of a layer
const edge_gap = 12;
const layer_gap = 30;
const most_passed = 60; // layers: a longer edge is drawn straight across
const rounds = 12;

export function arrange(boxes: Sized[], edges: [string, string][]): Arranged {
  if (boxes.length === 0) return { places: [], routes: new Map(), width: 0, height: 0 };
  const index = new Map(boxes.map((box, i) => [box.id, i]));
  const pairs = edges.flatMap(([from, to]): [number, number][] => {
    const [a, b] = [index.get(from), index.get(to)];
    return a === undefined || b === undefined || a === b ? [] : [[a, b]];
  });
  const downwards = without_cycles(boxes.length, pairs);
  const rank = ranks(boxes.length, downwards);
  const places = boxes.map((box, i): Place => ({ layer: rank[i]!, width: box.width, height: box.height, box: i, x: 0, above: [], below: [] }));
  const passed = new Map<string, Place[]>();
  const all = [...places];
  for (const [a, b] of downwards) {
    const span = rank[b]! - rank[a]!;
    let last = places[a]!;
    const stops: Place[] = [];
    for (let layer = rank[a]! + 1; layer < rank[b]! && span <= most_passed; ++layer) {
      const stop: Place = { layer, width: 2, height: 0, box: -1, x: 0, above: [], below: [] };
      connect(last, stop, stops.length === 0 ? 1 : 6);
      stops.push(stop);
      last = stop;
    }
    if (span <= most_passed) connect(last, places[b]!, stops.length === 0 ? 4 : 1);
    all.push(...stops);
    passed.set(`${boxes[a]!.id} ${boxes[b]!.id}`, stops);
  }
  const layers: Place[][] = [];
  for (const place of all) (layers[place.layer] ??= []).push(place);
  const ordered = with_few_crossings(layers.filter(Boolean));
  place_in_layers(ordered);
  return measured(boxes, places, ordered, passed);
}

function connect(upper: Place, lower: Place, weight: number): void {
  upper.below.push([lower, weight]);
  lower.above.push([upper, weight]);
}

// Collapsed modules may feed each other: an edge that closes a cycle is turned around.
function without_cycles(count: number, edges: [number, number][]): [number, number][] {
  const next: number[][] = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) next[from]!.push(to);
  const state = new Uint8Array(count); // 1: on the way here, 2: done
  const back = new Set<string>();
  for (let root = 0; root < count; ++root) {
    if (state[root]) continue;
    const way: [number, number][] = [[root, 0]];
    state[root] = 1;
    while (way.length > 0) {
      const top = way[way.length - 1]!;
      const to = next[top[0]]![top[1]++];
      if (to === undefined) {
        state[top[0]] = 2;
        way.pop();
      } else if (state[to] === 1) back.add(`${top[0]} ${to}`);
      else if (state[to] === 0) {
        state[to] = 1;
        way.push([to, 0]);
      }
    }
  }
  const seen = new Set<string>();
  return edges
    .map(([from, to]): [number, number] => (back.has(`${from} ${to}`) ? [to, from] : [from, to]))
    .filter(([from, to]) => !seen.has(`${from} ${to}`) && seen.add(`${from} ${to}`));
}

// The layer of each box: behind the last of its inputs, but near its readers where it has more of those.
function ranks(count: number, edges: [number, number][]): number[] {
  const inputs: number[][] = Array.from({ length: count }, () => []), readers: number[][] = Array.from({ length: count }, () => []);
  for (const [from, to] of edges) {
    inputs[to]!.push(from);
    readers[from]!.push(to);
  }
  const missing = inputs.map((list) => list.length);
  const order = missing.flatMap((number, i) => (number === 0 ? [i] : []));
  for (let at = 0; at < order.length; ++at) for (const reader of readers[order[at]!]!) if (--missing[reader]! === 0) order.push(reader);
  const rank = new Array<number>(count).fill(0);
  for (const box of order) for (const input of inputs[box]!) rank[box] = Math.max(rank[box]!, rank[input]! + 1);
  for (const box of order.reverse())
    if (readers[box]!.length > inputs[box]!.length) rank[box] = Math.min(...readers[box]!.map((reader) => rank[reader]!)) - 1;
  const least = Math.min(...rank);
  return rank.map((value) => value - least);
}

// Sweeps down and up, each layer sorted by where its neighbours are; the best order that was met.
function with_few_crossings(layers: Place[][]): Place[][] {
  const number = () => layers.forEach((layer) => layer.forEach((place, i) => (place.x = i)));
  number();
  let best = layers.map((layer) => [...layer]);
  let fewest = crossings(layers);
  for (let round = 0; round < rounds && fewest > 0; ++round) {
    const down = round % 2 === 0;
    for (let i = 1; i < layers.length; ++i) {
      const layer = layers[down ? i : layers.length - 1 - i]!;
      const wish = new Map(layer.map((place) => [place, middle(down ? place.above : place.below) ?? place.x]));
      layer.sort((a, b) => wish.get(a)! - wish.get(b)! || a.x - b.x);
      layer.forEach((place, at) => (place.x = at));
    }
    const now = crossings(layers);
    if (now < fewest) {
      fewest = now;
      best = layers.map((layer) => [...layer]);
    }
  }
  return best;
}

const middle = (neighbours: [Place, number][]): number | null =>
  neighbours.length === 0 ? null : neighbours.reduce((sum, [place]) => sum + place.x, 0) / neighbours.length;

// Between neighbouring layers: pairs of edges whose ends are in opposite orders, counted by a Fenwick tree.
function crossings(layers: Place[][]): number {
  let count = 0;
  for (let i = 1; i < layers.length; ++i) {
    const tree = new Uint32Array(layers[i]!.length + 1);
    let total = 0;
    for (const upper of layers[i - 1]!) {
      const ends = upper.below.map(([place]) => place.x);
      for (const end of ends) {
        let before = 0;
        for (let at = end + 1; at > 0; at -= at & -at) before += tree[at]!;
        count += total - before;
      }
      for (const end of ends) for (let at = end + 1; at < tree.length; at += at & -at) ++tree[at]!;
      total += ends.length;
    }
  }
  return count;
}

// Moves every layer as near to its neighbours as the order and the gaps let it.
function place_in_layers(layers: Place[][]): void {
  for (const layer of layers) {
    let x = 0;
    for (const place of layer) {
      place.x = x + place.width / 2;
      x += place.width + gap;
    }
  }
  for (let round = 0; round < rounds; ++round) {
    const down = round % 2 === 0;
    for (let i = 0; i < layers.length; ++i) settle(layers[down ? i : layers.length - 1 - i]!, round < rounds - 2 ? (down ? "above" : "below") : "both");
  }
}

// The places that are least far, squared and weighted, from the mean of their neighbours, in this order and
// with these gaps: places that would overlap form a block that moves as one (isotonic regression).
function settle(layer: Place[], side: "above" | "below" | "both"): void {
  interface Block { sum: number; weight: number; begin: number }
  const offsets: number[] = [];
  const blocks: Block[] = [];
  let offset = 0;
  layer.forEach((place, i) => {
    const before = layer[i - 1];
    if (before) offset += (before.width + place.width) / 2 + (before.box < 0 || place.box < 0 ? edge_gap : gap);
    offsets.push(offset);
    const neighbours = side === "both" ? [...place.above, ...place.below] : place[side];
    let [sum, weight] = [0, 0];
    for (const [other, strength] of neighbours) {
      sum += strength * other.x;
      weight += strength;
    }
    const wish = weight > 0 ? sum / weight : place.x;
    const strength = Math.max(weight, 0.01);
    let block: Block = { sum: strength * (wish - offset), weight: strength, begin: i };
    while (blocks.length > 0 && blocks[blocks.length - 1]!.sum / blocks[blocks.length - 1]!.weight > block.sum / block.weight) {
      const last = blocks.pop()!;
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, begin: last.begin };
    }
    blocks.push(block);
  });
  blocks.forEach((block, i) => {
    const end = blocks[i + 1]?.begin ?? layer.length;
    for (let at = block.begin; at < end; ++at) layer[at]!.x = block.sum / block.weight + offsets[at]!;
  });
}

function measured(boxes: Sized[], places: Place[], layers: Place[][], passed: Map<string, Place[]>): Arranged {
  const left = Math.min(...layers.flat().map((place) => place.x - place.width / 2));
  const right = Math.max(...layers.flat().map((place) => place.x + place.width / 2));
  const tops = new Map<number, [number, number]>(); // of a layer: its top and height
  let y = 0;
  const heights = layers.map((layer) => Math.max(...layer.map((place) => place.height)));
  layers.forEach((layer, i) => {
    tops.set(layer[0]!.layer, [y, heights[i]!]);
    const is_empty = heights[i] === 0 || heights[i + 1] === 0; // where wires enter or leave
    y += heights[i]! + (i + 1 === layers.length ? 0 : is_empty ? 10 : layer_gap);
  });
  const routes = new Map<string, Point[]>();
  for (const [edge, stops] of passed) {
    if (stops.length === 0) continue;
    // Beside tall boxes an edge goes straight down.
    routes.set(edge, stops.flatMap((stop) => {
      const [top, height] = tops.get(stop.layer)!;
      const x = stop.x - left;
      return height > 60 ? [{ x, y: top }, { x, y: top + height }] : [{ x, y: top + height / 2 }];
    }));
  }
  return {
    places: boxes.map((box, i) => {
      const [top, height] = tops.get(places[i]!.layer)!;
      return { x: places[i]!.x - box.width / 2 - left, y: top + (height - box.height) / 2 };
    }),
    routes, width: right - left, height: y,
  };
}
