// What sweep and tune found: points of cost against quality with their Pareto front, and a curve of steps.
import { useState } from "preact/hooks";
import { as_number, as_text, type JsonObject } from "./data";
import { figure, words } from "./format";

export interface Point {
  label: string;
  x: number;
  y: number;
  raw: JsonObject;
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

const cost = /bytes|size|latency|seconds|_ms$|quantized/;
const quality = /sqnr|_db$|accuracy|agreement|top\d|miou|score/;

// A list whose entries have figures of cost and of quality, whatever they are called.
export function find_points(result: JsonObject): { list: JsonObject[]; costs: string[]; qualities: string[]; steps: boolean } | null {
  for (const key of ["trials", "points", "candidates", "variants", "steps", "sweep", "results"]) {
    const list = result[key];
    if (!Array.isArray(list) || list.length < 2) continue;
    const entries = list.filter((each): each is JsonObject => each !== null && typeof each === "object" && !Array.isArray(each));
    const numeric = Object.keys(entries[0] ?? {}).filter((name) => entries.some((entry) => as_number(entry[name]) !== null));
    const costs = numeric.filter((name) => cost.test(name)), qualities = numeric.filter((name) => quality.test(name));
    if (qualities.length > 0) return { list: entries, costs, qualities, steps: key === "steps" || costs.length === 0 };
  }
  return null;
}

export function Points({ result }: { result: JsonObject }) {
  const found = find_points(result);
  const [x_key, set_x] = useState(""), [y_key, set_y] = useState("");
  if (!found) return null;
  const xs = found.costs.length ? found.costs : ["step"];
  const x_name = xs.includes(x_key) ? x_key : xs[0]!, y_name = found.qualities.includes(y_key) ? y_key : found.qualities[0]!;
  const points = found.list
    .map((raw, i): Point => ({ label: as_text(raw.name) || as_text(raw.label) || as_text(raw.id) || as_text(raw.kind) || `step ${i + 1}`, x: x_name === "step" ? i + 1 : (as_number(raw[x_name]) ?? NaN), y: as_number(raw[y_name]) ?? NaN, raw }))
    .filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y));
  if (points.length < 2) return null;
  const [width, height, left, bottom] = [720, 300, 64, 36];
  const span = (values: number[]): [number, number] => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const slack = (high - low || Math.abs(high) || 1) * 0.08;
    return [low - slack, high + slack];
  };
  const [x0, x1] = span(points.map((point) => point.x)), [y0, y1] = span(points.map((point) => point.y));
  const x = (value: number) => left + ((value - x0) / (x1 - x0)) * (width - left - 16), y = (value: number) => 12 + (1 - (value - y0) / (y1 - y0)) * (height - bottom - 12);
  const front = x_name === "step" ? points : pareto_front(points);
  const path = front.map((point, i) => `${i ? "L" : "M"}${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)}`).join("");
  return (
    <section class="points" aria-label={x_name === "step" ? "Tuning curve" : "Cost against quality"}>
      <header>
        <h2>{x_name === "step" ? "Step by step" : "Cost against quality"}</h2>
        {xs.length > 1 && <select aria-label="Cost" value={x_name} onChange={(event) => set_x(event.currentTarget.value)}>{xs.map((name) => <option key={name} value={name}>{words(name)}</option>)}</select>}
        {found.qualities.length > 1 && <select aria-label="Quality" value={y_name} onChange={(event) => set_y(event.currentTarget.value)}>{found.qualities.map((name) => <option key={name} value={name}>{words(name)}</option>)}</select>}
      </header>
      <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`${points.length} points of ${words(y_name)} against ${words(x_name)}; on the front: ${front.map((point) => point.label).join(", ")}`}>
        <line class="axis" x1={left} x2={width - 16} y1={height - bottom} y2={height - bottom} />
        <line class="axis" x1={left} x2={left} y1="12" y2={height - bottom} />
        {[y0, (y0 + y1) / 2, y1].map((value, i) => <text key={i} x={left - 6} y={y(value) + 4} text-anchor="end">{figure(Number(value.toPrecision(3)))}</text>)}
        {[x0, (x0 + x1) / 2, x1].map((value, i) => <text key={i} x={x(value)} y={height - bottom + 16} text-anchor={["start", "middle", "end"][i]}>{figure(Number(value.toPrecision(3)))}</text>)}
        <text x={(left + width) / 2} y={height - 2} text-anchor="middle">{words(x_name)}</text>
        <path class="front" d={path} />
        {points.map((point, i) => (
          <g key={i} class={front.includes(point) ? "on-front" : ""}><circle cx={x(point.x)} cy={y(point.y)} r="5"><title>{`${point.label}: ${words(y_name)} ${figure(point.y)}, ${words(x_name)} ${figure(point.x)}`}</title></circle>{front.includes(point) && points.length <= 40 && <text x={x(point.x) + 8} y={y(point.y) - 6}>{point.label}</text>}</g>
        ))}
      </svg>
    </section>
  );
}
