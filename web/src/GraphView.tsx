import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ink_on, ramp_colour } from "./colour";
import { count_text, elide_middle } from "./format";
import { ancestors, caption, opened_at_first, type FoldedGraph, type GNode, type Group } from "./graph";
import { lay_out, type Box, type Wire } from "./layout";
import { Minimap } from "./Minimap";
import { status_symbol, value_text } from "./Navigator";
import { Ramp } from "./Ramp";
import { badness, colour_ends, row_goodness, type Row, type Rows, type Signal } from "./rows";
import type { State } from "./state";
import { fit_view, is_whole, least_scale, type View } from "./view";
import { visible_height } from "./visible";

interface Props {
  graph: FoldedGraph;
  rows: Rows;
  signal: Signal;
  largest: number;
  state: State;
  change: (part: Partial<State>) => void;
}

// The worst row of every node and of every group.
function worst_rows(graph: FoldedGraph, rows: Row[], signal: Signal): Map<string, Row> {
  const worst = new Map<string, Row>();
  const offer = (id: string, row: Row) => {
    const known = worst.get(id);
    if (!known || badness(row.values[signal.key], signal) > badness(known.values[signal.key], signal)) worst.set(id, row);
  };
  for (const row of rows) {
    const node = row.node === null ? undefined : graph.by_index.get(row.node);
    if (!node || (row.values[signal.key] === undefined && row.kind !== "finding")) continue;
    offer(node.id, row);
    for (const group of ancestors(node.group)) offer(group.id, row);
  }
  return worst;
}

const least_width_of_minimap = 440; // of the canvas: in less it would cover the graph
export function found_nodes(graph: FoldedGraph, text: string): GNode[] {
  const wanted = text.trim().toLowerCase();
  return wanted === "" ? [] : graph.nodes.filter((node) => `${node.label} ${node.op}`.toLowerCase().includes(wanted));
}

const limit = (k: number) => Math.min(2.5, Math.max(0.02, k));

export function GraphView({ graph, rows, signal, largest, state, change }: Props) {
  const [opened, set_opened] = useState<Set<string>>(() => new Set(state.open.length ? state.open : opened_at_first(graph.root)));
  const layout = useMemo(() => lay_out(graph, opened), [graph, opened]);
  const worst = useMemo(() => worst_rows(graph, rows.rows, signal), [graph, rows, signal]);
  const box = useRef<HTMLDivElement>(null);
  const [size, set_size] = useState({ width: 0, height: 0 });
  const [view, set_view] = useState<View>({ x: 0, y: 0, k: 1 });
  const [query, set_query] = useState("");
  const [hit_at, set_hit] = useState(0);
  const drag = useRef<{ x: number; y: number; view: View; moved: boolean } | null>(null);
  const centre_on = useRef<string>("");

  useLayoutEffect(() => {
    const measure = () => box.current && set_size({ width: box.current.clientWidth, height: box.current.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const fit = (target?: Box) => set_view(fit_view({ width: size.width, height: box.current ? visible_height(box.current) : size.height }, layout, target));

  const node_id = useMemo(() => {
    if (state.selected.startsWith("n:") || state.selected.startsWith("g:")) return state.selected;
    const row = rows.rows.find((each) => each.id === state.selected);
    const node = row?.node === null || row?.node === undefined ? undefined : graph.by_index.get(row.node);
    return node?.id ?? "";
  }, [state.selected, rows, graph]);
  const started = useRef(false);
  useEffect(() => {
    if (started.current || size.width < 10) return;
    started.current = true;
    if (!node_id) fit();
  }, [size]);
  // What is selected elsewhere is opened and moved into view here.
  useEffect(() => {
    if (!node_id) return;
    const node = graph.nodes.find((each) => each.id === node_id);
    const groups = node ? ancestors(node.group) : ancestors(graph.groups.get(node_id)?.parent ?? null);
    centre_on.current = node_id;
    if (groups.some((group) => !opened.has(group.id))) set_opened(new Set([...opened, ...groups.map((group) => group.id)]));
    else centre();
  }, [node_id, graph]);
  const centre = () => {
    const target = layout.box_of.get(centre_on.current);
    if (!target || size.width < 10) return; // its module is being opened, or nothing is measured yet
    centre_on.current = "";
    const [left, top] = [target.x * view.k + view.x, target.y * view.k + view.y];
    const height = box.current ? visible_height(box.current) : size.height;
    const inside = view.k > 0.35 && left > 10 && top > 10 && left + target.width * view.k < size.width - 10 && top + target.height * view.k < height - 10;
    if (inside && started.current && !(view.k === 1 && view.x === 0)) return;
    const k = Math.max(least_scale, Math.min(view.k, 1.2));
    set_view({ k, x: size.width / 2 - (target.x + target.width / 2) * k, y: height / 2 - (target.y + Math.min(target.height, 80) / 2) * k });
  };
  useEffect(() => {
    if (centre_on.current) centre();
  }, [layout, size]);

  // What is opened or closed stays where it is on the screen; all at once begins anew.
  const keep = useRef<{ id: string; x: number; y: number } | null>(null);
  const set_open = (next: Set<string>) => {
    set_opened(next);
    change({ open: [...next] });
  };
  const toggle = (group: Group) => {
    const next = new Set(opened);
    if (!next.delete(group.id)) next.add(group.id);
    const shown = layout.box_of.get(group.id);
    if (shown) keep.current = { id: group.id, x: (shown.x + shown.width / 2) * view.k + view.x, y: shown.y * view.k + view.y };
    set_open(next);
  };
  const set_all = (next: Set<string>) => {
    keep.current = { id: "", x: 0, y: 0 };
    set_open(next);
  };
  useLayoutEffect(() => {
    const kept = keep.current;
    keep.current = null;
    const shown = kept && layout.box_of.get(kept.id);
    if (shown) set_view({ ...view, x: kept.x - (shown.x + shown.width / 2) * view.k, y: kept.y - shown.y * view.k });
    else if (kept) fit(layout.box_of.get(node_id));
  }, [layout]);
  const select = (target: Box) => {
    if (target.node && target.node.index >= 0) {
      const own = rows.rows.find((row) => row.node !== null && row.kind !== "weight" && graph.by_index.get(row.node) === target.node) ?? worst.get(target.id);
      change({ selected: own?.id ?? target.id });
    } else if (target.group) change({ selected: target.id });
    else {
      const row = rows.rows.find((each) => each.kind === "output" && each.name === target.node?.label);
      if (row) change({ selected: row.id });
    }
  };
  const zoom = (factor: number, at = { x: size.width / 2, y: size.height / 2 }) => {
    const k = limit(view.k * factor);
    set_view({ k, x: at.x - ((at.x - view.x) * k) / view.k, y: at.y - ((at.y - view.y) * k) / view.k });
  };
  const hits = useMemo(() => found_nodes(graph, query), [graph, query]);
  const search = (text: string, from = 0) => {
    const found = found_nodes(graph, text);
    const at = from % Math.max(1, found.length);
    set_query(text);
    set_hit(at);
    const hit = found[at];
    if (hit) {
      const row = rows.rows.find((each) => each.node !== null && each.kind !== "weight" && graph.by_index.get(each.node) === hit);
      change({ selected: row?.id ?? hit.id });
    }
  };
  const on_key = (event: KeyboardEvent) => {
    const step = 60;
    if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0" || event.key === "f") fit(layout.box_of.get(node_id));
    else if (event.key === "ArrowDown" || event.key === "ArrowUp" || event.key === "ArrowLeft" || event.key === "ArrowRight") {
      if (event.shiftKey || !node_id) {
        const [dx, dy] = { ArrowDown: [0, -step], ArrowUp: [0, step], ArrowLeft: [step, 0], ArrowRight: [-step, 0] }[event.key] as [number, number];
        set_view({ ...view, x: view.x + dx, y: view.y + dy });
      } else walk(event.key);
    } else if (event.key === "Enter" && state.selected.startsWith("g:")) {
      const group = graph.groups.get(state.selected);
      if (group) toggle(group);
    } else return;
    event.preventDefault();
  };
  // Along the wires, or to the neighbour on the same height.
  const walk = (key: string) => {
    const here = layout.box_of.get(node_id);
    if (!here) return;
    let next: Box | undefined;
    if (key === "ArrowDown") next = layout.wires.find((wire) => wire.from === here)?.to;
    else if (key === "ArrowUp") next = layout.wires.find((wire) => wire.to === here)?.from;
    else {
      const side = key === "ArrowRight" ? 1 : -1;
      next = layout.boxes
        .filter((each) => !each.open && Math.abs(each.y - here.y) < 60 && (each.x - here.x) * side > 0)
        .sort((a, b) => Math.abs(a.x - here.x) - Math.abs(b.x - here.x))[0];
    }
    if (next) select(next);
  };

  const slack = 200;
  const seen = (left: number, top: number, right: number, bottom: number) =>
    right * view.k + view.x > -slack && left * view.k + view.x < size.width + slack && bottom * view.k + view.y > -slack && top * view.k + view.y < size.height + slack;
  const boxes = layout.boxes.filter((each) => seen(each.x, each.y, each.x + each.width, each.y + each.height));
  const wires = layout.wires.filter(({ from, to }) => seen(Math.min(from.x, to.x), Math.min(from.y, to.y), Math.max(from.x + from.width, to.x + to.width), Math.max(from.y, to.y)));
  const on_down = (event: PointerEvent) => {
    drag.current = { x: event.clientX, y: event.clientY, view, moved: false };
  };
  const on_move = (event: PointerEvent) => {
    if (!drag.current) return;
    const [dx, dy] = [event.clientX - drag.current.x, event.clientY - drag.current.y];
    if (!drag.current.moved && Math.hypot(dx, dy) < 4) return;
    drag.current.moved = true;
    set_view({ ...drag.current.view, x: drag.current.view.x + dx, y: drag.current.view.y + dy });
  };
  const on_wheel = (event: WheelEvent) => {
    event.preventDefault();
    const bounds = box.current!.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(-event.deltaY / 200), { x: event.clientX - bounds.left, y: event.clientY - bounds.top });
    else set_view({ ...view, x: view.x - event.deltaX, y: view.y - event.deltaY });
  };
  const closable = [...graph.groups.values()].some((group) => group.parent);
  return (
    <section class="pane graph" aria-label="Graph">
      <div class="filters">
        <input type="search" placeholder="Search nodes" aria-label="Search nodes of the graph" value={query}
          onInput={(event) => search(event.currentTarget.value)}
          onKeyDown={(event) => { if (event.key === "Enter") search(query, hit_at + 1); }} />
        <span class="segment" role="group" aria-label="Zoom">
          <button onClick={() => zoom(0.8)} aria-label="Zoom out">−</button>
          <button onClick={() => zoom(1.25)} aria-label="Zoom in">+</button>
          <button onClick={() => fit(layout.box_of.get(node_id))} title="The whole graph, or as much of it as can be read (f)">fit</button>
        </span>
        {closable && (
          <span class="segment" role="group" aria-label="Modules">
            <button onClick={() => set_all(new Set([...graph.groups.keys()].filter((id) => id !== "g:")))} title="Open all modules">open all</button>
            <button onClick={() => set_all(new Set())} title="Close all modules">close all</button>
          </span>
        )}
        <span class="count" role="status">{query.trim() === "" ? count_text(graph.nodes.filter((node) => node.index >= 0).length, "node") : hits.length === 0 ? "no match" : `${hit_at + 1} of ${count_text(hits.length, "match", "matches")}`}</span>
      </div>
      <Legend graph={graph} rows={rows} signal={signal} largest={largest} />
      <div class="canvas" ref={box} role="application" tabIndex={0} aria-label="Graph: arrow keys follow the wires, Shift and arrow keys move, plus and minus zoom, f fits, Enter opens a module" onKeyDown={on_key} onPointerDown={on_down} onPointerMove={on_move} onPointerUp={() => (drag.current = null)} onPointerLeave={() => (drag.current = null)} onWheel={on_wheel}>
        <svg width={size.width} height={size.height} role="presentation">
          <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0.6L7.4 4L0 7.4z" /></marker></defs>
          <g transform={`translate(${view.x} ${view.y}) scale(${view.k})`}>
            {boxes.filter((each) => each.open).map((each) => <GroupBox key={each.id} box={each} selected={each.id === node_id} select={() => select(each)} toggle={() => each.group && toggle(each.group)} />)}
            {wires.map((wire) => <WireLine key={wire.id} wire={wire} near={wire.from.id === node_id || wire.to.id === node_id} arrow={view.k > 0.3} />)}
            {boxes.filter((each) => !each.open).map((each) => (
              <NodeBox key={each.id} box={each} row={worst.get(each.id)} signal={signal} largest={largest} selected={each.id === node_id} text={view.k > 0.3}
                select={() => { if (!drag.current?.moved) select(each); }} toggle={() => each.group && toggle(each.group)} />
            ))}
          </g>
        </svg>
        {size.width >= least_width_of_minimap && !is_whole(view, size, layout) && <Minimap layout={layout} view={view} size={size} worst={worst} signal={signal} largest={largest} selected={node_id} go={(x, y) => set_view({ ...view, x: size.width / 2 - x * view.k, y: size.height / 2 - y * view.k })} />}
      </div>
    </section>
  );
}

// What colours and signs of nodes mean.
function Legend({ graph, rows, signal, largest }: { graph: FoldedGraph; rows: Rows; signal: Signal; largest: number }) {
  const findings = rows.rows.some((row) => row.kind === "finding");
  const [bad, good] = colour_ends(signal, largest);
  const Swatch = ({ goodness }: { goodness: number | null }) => <i class="swatch" style={{ background: ramp_colour(goodness) }} />;
  return (
    <p class="node-legend">
      {findings ? <><span><Swatch goodness={0} /> error</span><span><Swatch goodness={0.33} /> warning</span></> : <span>{bad} <Ramp /> {good}</span>}
      <span><Swatch goodness={null} /> {findings ? "no finding" : "not measured"}</span>
      {graph.nodes.some((node) => node.quantized) && <span>◫ quantized</span>}
      {graph.groups.size > 1 && <span>▸ closed module · nodes in it</span>}
    </p>
  );
}

function GroupBox({ box, selected, select, toggle }: { box: Box; selected: boolean; select: () => void; toggle: () => void }) {
  return (
    <g class={`group ${selected ? "selected" : ""}`} transform={`translate(${box.x} ${box.y})`}>
      <rect width={box.width} height={box.height} rx="8" class={box.depth % 2 ? "odd" : "even"} />
      <g class="group-title" onClick={select} onDblClick={toggle}>
        <rect width={box.width} height="24" class="hit" />
        <text x="26" y="16">{elide_middle(box.group!.label, Math.max(6, Math.floor((box.width - 36) / 6.6)))}</text>
        <g class="twist" onClick={(event) => { event.stopPropagation(); toggle(); }}><rect width="24" height="24" class="hit" /><text x="10" y="16">▾</text></g>
      </g>
    </g>
  );
}

function WireLine({ wire, near, arrow }: { wire: Wire; near: boolean; arrow: boolean }) {
  const { from, to } = wire;
  const x1 = from.x + from.width / 2, y1 = from.y + from.height, x2 = to.x + to.width / 2, y2 = to.y;
  const stops = [...wire.route.filter((point) => point.y > y1 + 8 && point.y < y2 - 8), { x: x2, y: y2 }];
  let d = `M${x1} ${y1}`;
  let [x, y] = [x1, y1];
  for (const stop of stops) {
    const bend = Math.max(8, Math.min(60, (stop.y - y) / 2));
    d += `C${x} ${y + bend} ${stop.x} ${stop.y - bend} ${stop.x} ${stop.y}`;
    [x, y] = [stop.x, stop.y];
  }
  return <path class={`wire ${near ? "near" : ""}`} d={d} {...(arrow ? { "marker-end": "url(#arrow)" } : {})} />;
}

interface NodeBoxProps {
  box: Box;
  row: Row | undefined;
  signal: Signal;
  largest: number;
  selected: boolean;
  text: boolean;
  select: () => void;
  toggle: () => void;
}

function NodeBox({ box, row, signal, largest, selected, text, select, toggle }: NodeBoxProps) {
  const value = row?.values[signal.key];
  const good = row_goodness(row, signal, largest);
  const { node, group } = box;
  const label = group ? `${group.owner ? group.label : elide_middle(group.label, 26)} · ${group.size}` : elide_middle(caption(node!), 31);
  const note = `${group ? `${group.label}, module of ${group.size} nodes` : `${node!.op} ${node!.label}${node!.quantized ? ", quantized" : ""}`}${row ? `\n${row.kind === "finding" ? row.op : `${signal.label} ${value_text(value, signal)}`} · ${row.verdict}` : ""}`;
  return (
    <g class={`node ${group ? "closed" : node!.index < 0 ? "end" : ""} ${selected ? "selected" : ""}`} transform={`translate(${box.x} ${box.y})`} onClick={select} onDblClick={group ? toggle : undefined} data-id={box.id}>
      <title>{note}</title>
      {group && <rect class="stack" x="3" y="-3" width={box.width} height={box.height} rx="6" />}
      <rect class="body" width={box.width} height={box.height} rx={node && node.index < 0 ? 15 : 5} style={{ fill: ramp_colour(good) }} />
      {text && <text x={box.width / 2 + (group ? 8 : 0)} y={box.height / 2 + 4} text-anchor="middle" style={{ fill: ink_on(good) }}>{label}</text>}
      {text && row && (row.status === "bad" || row.status === "fair") && <text class="mark" x={box.width - 5} y="3" text-anchor="middle">{status_symbol[row.status]}</text>}
      {group && <g class="twist" onClick={(event) => { event.stopPropagation(); toggle(); }}><rect width="22" height={box.height} class="hit" /><text x="9" y={box.height / 2 + 4} style={{ fill: ink_on(good) }}>▸</text></g>}
    </g>
  );
}
