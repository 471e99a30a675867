// What sweep found: configurations of cost against quality, with their Pareto front. What tune found: its
// metric by how many nodes are kept in float.
import { useState } from "preact/hooks";
import { as_list, as_number, as_text, type JsonObject } from "./data";
import { figure } from "./format";

export interface Point {
  label: string;
  x: number;
  y: number;
}

// What no other point beats in both: less on x, more on y.
export function pareto_front(points: Point[]): Point[] {
  const sorted = [...points].sort((a, b) => a.x - b.x || b.y - a.y);
  const front: Point[] = [];
  let best = -Infinity;
  for (const point of sorted) {
    if (point.y <= best) continue;
    best = point.y;
    front.push(point);
  }
  return front;
}

interface Axis {
  key: string;
  label: string;
  text: (value: number) => string;
}

function bytes_text(bytes: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  for (; Math.abs(bytes) >= 1000 && unit + 1 < units.length; ++unit) bytes /= 1000;
  return `${Number(bytes.toPrecision(3))} ${units[unit]}`;
}

const costs: Axis[] = [
  { key: "bytes", label: "size", text: bytes_text },
  { key: "latency_ratio", label: "latency (1 is the float model)", text: figure },
  { key: "peak_bytes", label: "peak memory", text: bytes_text },
];
const qualities: Axis[] = [
  { key: "accuracy", label: "accuracy, %", text: figure },
  { key: "sqnr_db", label: "SQNR of the output, dB", text: figure },
  { key: "deployed_sqnr_db", label: "SQNR as deployed here, dB", text: figure },
  { key: "agreement", label: "agreement with the float model", text: figure },
];

const points_of = (list: JsonObject[], x: Axis, y: Axis): Point[] =>
  list
    .map((raw): Point => ({ label: as_text(raw.precision), x: as_number(raw[x.key]) ?? NaN, y: as_number(raw[y.key]) ?? NaN }))
    .filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y));

export function Points({ result }: { result: JsonObject }) {
  if (result.command === "sweep") return <Sweep list={as_list(result.configurations)} />;
  if (result.command === "tune") return <Tune result={result} />;
  return null;
}

function Choice({ label, axes, chosen, choose }: { label: string; axes: Axis[]; chosen: Axis; choose: (key: string) => void }) {
  return <span class="segment" role="group" aria-label={label}>{axes.map((axis) => <button key={axis.key} aria-pressed={axis === chosen} onClick={() => choose(axis.key)}>{axis.label}</button>)}</span>;
}

function Sweep({ list }: { list: JsonObject[] }) {
  const [x_key, set_x] = useState("bytes"), [y_key, set_y] = useState("");
  const known = (axes: Axis[]) => axes.filter((axis) => list.filter((raw) => Number.isFinite(as_number(raw[axis.key]) ?? NaN)).length > 1);
  const [xs, ys] = [known(costs), known(qualities)];
  const x = xs.find((axis) => axis.key === x_key) ?? xs[0], y = ys.find((axis) => axis.key === y_key) ?? ys[0];
  if (!x || !y) return null;
  const points = points_of(list, x, y);
  const front = pareto_front(points);
  const exact = list.filter((raw) => as_number(raw[y.key]) === Infinity).map((raw) => `${as_text(raw.precision)} (${x.text(as_number(raw[x.key]) ?? NaN)})`);
  return (
    <section class="points" aria-label="Cost against quality">
      <header><h2>Cost against quality</h2><Choice label="Quality" axes={ys} chosen={y} choose={set_y} /><Choice label="Cost" axes={xs} chosen={x} choose={set_x} /></header>
      <Chart points={points} line={front} x={x} y={y} description={`${points.length} configurations; on the Pareto front: ${front.map((point) => point.label).join(", ")}`} />
      <p class="sub"><span class="key front-key" /> Pareto front: no other configuration is better in both{exact.length > 0 && ` · exact, above the chart: ${exact.join(", ")}`}</p>
    </section>
  );
}

// "sqnr_db>=30"
const target_value = (target: string): number => Number(/-?[\d.]+(e[-+]?\d+)?$/.exec(target)?.[0] ?? NaN);

// The best of each number of nodes, in their order.
export function best_of_each(points: Point[], lower_is_better: boolean): Point[] {
  const best = new Map<number, Point>();
  for (const point of points) {
    const other = best.get(point.x);
    if (!other || (lower_is_better ? point.y < other.y : point.y > other.y)) best.set(point.x, point);
  }
  return [...best.values()].sort((a, b) => a.x - b.x);
}

function Tune({ result }: { result: JsonObject }) {
  const curve = as_list(result.curve).map((raw): Point => ({ label: "", x: as_number(raw.kept_nodes) ?? NaN, y: as_number(raw.value) ?? NaN })).filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y));
  if (curve.length < 2) return null;
  const target = as_text(result.target);
  const line = best_of_each(curve, target.includes("<"));
  const chosen = line.find((point) => Array.isArray(result.kept) && point.x === result.kept.length);
  if (chosen) chosen.label = "chosen";
  const metric = /^\w+/.exec(target)?.[0] ?? "value";
  const x: Axis = { key: "kept_nodes", label: "nodes kept in float", text: (value) => String(Math.round(value)) };
  const y: Axis = { key: "value", label: metric === "sqnr_db" ? "SQNR, dB" : metric.replaceAll("_", " "), text: figure };
  return (
    <section class="points" aria-label="Tuning curve">
      <header><h2>Tuning curve</h2></header>
      <Chart points={curve} above line={line} x={x} y={y} level={{ value: target_value(target), label: target }} description={`${y.label} by nodes kept in float, target ${target}`} />
    </section>
  );
}

interface ChartProps {
  points: Point[];
  above?: boolean; // labels, where the next point is often to the right
  line: Point[];
  x: Axis;
  y: Axis;
  level?: { value: number; label: string };
  description: string;
}

// Round numbers within the span, about so many.
export function round_ticks([low, high]: [number, number], about: number): number[] {
  const raw = (high - low) / about;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = unit * ([1, 2, 5, 10].find((factor) => factor * unit >= raw) ?? 10);
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

function Chart({ points, above = false, line, x, y, level, description }: ChartProps) {
  const [width, height, left, right, top, bottom] = [860, 340, 64, 130, 28, 42];
  const span = (values: number[]): [number, number] => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const slack = (high - low || Math.abs(high) || 1) * 0.08;
    return [low - slack, high + slack];
  };
  const shown_level = level && Number.isFinite(level.value) ? [level.value] : [];
  const x_span = span(points.map((point) => point.x)), y_span = span([...points.map((point) => point.y), ...shown_level]);
  const at_x = (value: number) => left + ((value - x_span[0]) / (x_span[1] - x_span[0])) * (width - left - right);
  const at_y = (value: number) => top + (1 - (value - y_span[0]) / (y_span[1] - y_span[0])) * (height - bottom - top);
  const path = line.map((point, i) => `${i ? "L" : "M"}${at_x(point.x).toFixed(1)} ${at_y(point.y).toFixed(1)}`).join("");
  return (
    <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${y.label} against ${x.label}: ${description}`}>
      {round_ticks(y_span, 5).map((value) => <g key={value}><line class="grid" x1={left} x2={width - right} y1={at_y(value)} y2={at_y(value)} /><text x={left - 8} y={at_y(value) + 4} text-anchor="end">{y.text(value)}</text></g>)}
      {round_ticks(x_span, 6).map((value) => <g key={value}><line class="grid" x1={at_x(value)} x2={at_x(value)} y1={top} y2={height - bottom} /><text x={at_x(value)} y={height - bottom + 16} text-anchor="middle">{x.text(value)}</text></g>)}
      <text class="axis-title" x={left} y="14">{y.label}</text>
      <text class="axis-title" x={(left + width - right) / 2} y={height - 6} text-anchor="middle">{x.label}</text>
      {shown_level.map((value) => <g key={value} class="level"><line x1={left} x2={width - right} y1={at_y(value)} y2={at_y(value)} /><text x={width - right + 6} y={at_y(value) + 4}>{level!.label}</text></g>)}
      <path class="front" d={path} />
      {points.map((point, i) => (
        <g key={i} class={line.includes(point) ? "on-front" : ""}>
          <circle cx={at_x(point.x)} cy={at_y(point.y)} r="5"><title>{`${point.label ? `${point.label}: ` : ""}${y.label} ${y.text(point.y)}, ${x.label} ${x.text(point.x)}`}</title></circle>
        </g>
      ))}
      {points.length <= 40 && points.filter((point) => point.label).map((point, i) => (
        <g key={i} class={line.includes(point) ? "on-front" : ""}><text {...(above ? { x: at_x(point.x), y: at_y(point.y) - 10, "text-anchor": "middle" } : { x: at_x(point.x) + 9, y: at_y(point.y) + 4 })}>{point.label}</text></g>
      ))}
    </svg>
  );
}
