import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { decibels, figure } from "./format";
import { value_text } from "./Navigator";
import type { Row, Rows, Signal } from "./rows";
import type { State } from "./state";

const margin = { left: 46, right: 12, top: 18, bottom: 22 };

interface Props {
  rows: Rows;
  signal: Signal;
  state: State;
  change: (part: Partial<State>) => void;
}

// Where figures are drawn: decibels as they are, others by their logarithm. Exact stands at the top.
export function make_scale(values: number[], signal: Signal): { low: number; high: number; at: (value: number) => number; ticks: number[] } {
  const finite = values.filter(Number.isFinite);
  if (signal.decibels) {
    const low = Math.min(0, Math.floor(Math.min(...finite, 0) / 10) * 10);
    const high = Math.max(50, Math.ceil((Math.max(...finite, 0) + 1) / 10) * 10);
    const step = high - low > 120 ? 40 : 20;
    const ticks: number[] = [];
    for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
    const at = (value: number) => (Number.isNaN(value) ? 0 : (Math.min(high, Math.max(low, value)) - low) / (high - low));
    return { low, high, at, ticks };
  }
  const positive = finite.map(Math.abs).filter((value) => value > 0);
  const low = positive.length ? Math.floor(Math.log10(Math.min(...positive))) : -8;
  const high = positive.length ? Math.max(low + 1, Math.ceil(Math.log10(Math.max(...positive)))) : 0;
  const step = Math.max(1, Math.ceil((high - low) / 5));
  const ticks: number[] = [];
  for (let tick = low; tick <= high; tick += step) ticks.push(10 ** tick);
  const at = (value: number) => (Number.isNaN(value) ? 1 : value === 0 ? 0 : (Math.min(high, Math.max(low, Math.log10(Math.abs(value)))) - low) / (high - low));
  return { low, high, at, ticks };
}

// The rows that have the signal: in the order of execution, or weights, which are listed by name.
export const along_network = (rows: Row[], signal: Signal): Row[] =>
  rows.filter((row) => row.kind !== "finding" && row.values[signal.key] !== undefined && row.values[signal.key] !== null && (row.kind !== "weight" || signal.key === "weight_sqnr_db"));

export const order_text = (shown: Row[]): string => (shown.every((row) => row.kind === "weight") ? "by name" : "in the order of execution");

export function Profile({ rows, signal, state, change }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, set_width] = useState(1000);
  const [height] = useState(() => (innerHeight < 760 ? 100 : 128)); // the rows below have to be on the first screen
  const [hover, set_hover] = useState<number | null>(null);
  const [brush, set_brush] = useState<[number, number] | null>(null);
  useLayoutEffect(() => {
    const measure = () => set_width(Math.max(320, box.current?.clientWidth ?? 1000));
    measure();
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const all = useMemo(() => along_network(rows.rows, signal), [rows, signal]);
  const begin = Math.max(0, Math.min(state.zoom?.[0] ?? 0, all.length - 2));
  const end = Math.min(all.length - 1, state.zoom?.[1] ?? all.length - 1);
  const shown = all.slice(begin, end + 1);
  const scale = useMemo(() => make_scale(all.map((row) => row.values[signal.key]!), signal), [all, signal]);
  const inner = width - margin.left - margin.right;
  const tall = height - margin.top - margin.bottom;
  const x = (index: number) => margin.left + (shown.length < 2 ? inner / 2 : ((index - begin) / (end - begin)) * inner);
  const y = (value: number) => margin.top + (1 - scale.at(value)) * tall;
  const index_at = (position: number) => Math.min(end, Math.max(begin, Math.round(begin + ((position - margin.left) / inner) * (end - begin))));
  if (all.length === 0) return <section class="profile" aria-label="Profile" ref={box}><p class="empty">No row has this signal.</p></section>;
  // Names that follow each other have nothing in common that a line could show.
  const by_name = order_text(all) === "by name";
  const line = by_name ? "" : shown.map((row, i) => `${i ? "L" : "M"}${x(begin + i).toFixed(1)} ${y(row.values[signal.key]!).toFixed(1)}`).join("");
  const selected = all.findIndex((row) => row.id === state.selected);
  const origin = rows.origin === null ? -1 : all.indexOf(rows.rows[rows.origin]!);
  const inside = (index: number) => index >= begin && index <= end;
  const pointed = hover ?? (selected >= 0 && inside(selected) ? selected : null);
  const pointed_row = pointed === null ? undefined : all[pointed];
  const local = (event: PointerEvent) => event.clientX - box.current!.getBoundingClientRect().left;
  const down = (event: PointerEvent) => {
    (event.currentTarget as Element).setPointerCapture?.(event.pointerId);
    const position = local(event);
    set_brush([position, position]);
  };
  const move = (event: PointerEvent) => {
    const position = local(event);
    set_hover(index_at(position));
    if (brush) set_brush([brush[0], position]);
  };
  const up = (event: PointerEvent) => {
    const position = local(event);
    if (brush && Math.abs(position - brush[0]) > 6) {
      const [from, to] = [index_at(Math.min(brush[0], position)), index_at(Math.max(brush[0], position))];
      if (to > from) change({ zoom: [from, to] });
    } else {
      const row = all[index_at(position)];
      if (row) change({ selected: row.id });
    }
    set_brush(null);
  };
  const zoom_by = (factor: number) => {
    const centre = selected >= 0 ? selected : (begin + end) / 2;
    const half = Math.max(2, ((end - begin) / 2) * factor);
    const from = Math.max(0, Math.round(centre - half)), to = Math.min(all.length - 1, Math.round(centre + half));
    change({ zoom: to - from >= all.length - 1 ? null : [from, to] });
  };
  const on_key = (event: KeyboardEvent) => {
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const next = all[Math.min(all.length - 1, Math.max(0, (selected < 0 ? begin - 1 : selected) + (event.key === "ArrowRight" ? 1 : -1)))];
      if (next) change({ selected: next.id });
    } else if (event.key === "+" || event.key === "=") zoom_by(0.5);
    else if (event.key === "-") zoom_by(2);
    else if (event.key === "0" || event.key === "Escape") change({ zoom: null });
    else return;
    event.preventDefault();
  };
  const worst_first = signal.decibels ? `lowest ${decibels(Math.min(...all.map((row) => row.values[signal.key]!)))} dB` : `largest ${figure(Math.max(...all.map((row) => row.values[signal.key]!)))}`;
  const dots = by_name || shown.length <= 260;
  const edge = (value: number) => Math.min(margin.top + tall, Math.max(margin.top, y(value)));
  const flip = pointed !== null && x(pointed) > width - 330;
  return (
    <section class="profile" aria-label="Profile">
      <header>
        <h2>{by_name ? "Weights" : "Along the network"}</h2>
        <span class="segment" role="group" aria-label="Signal">
          {rows.signals.map((each) => <button key={each.key} aria-pressed={each.key === signal.key} onClick={() => change({ signal: each.key, zoom: null })}>{each.label}</button>)}
        </span>
        <span class="hint">{state.zoom ? <button onClick={() => change({ zoom: null })}>whole network (0)</button> : "drag to zoom, click to select"}</span>
      </header>
      <div ref={box} class="plot" style={{ height: `${height}px` }} role="application" tabIndex={0} aria-label={`${signal.label} of ${all.length} rows ${order_text(all)}, ${worst_first}. Arrow keys select, plus and minus zoom.`} onKeyDown={on_key}>
        <svg width={width} height={height} role="presentation" onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerLeave={() => set_hover(null)} onDblClick={() => change({ zoom: null })}>
          {signal.decibels && (
            <>
              <rect class="band bad" x={margin.left} width={inner} y={edge(20)} height={Math.max(0, margin.top + tall - edge(20))} />
              <rect class="band fair" x={margin.left} width={inner} y={edge(40)} height={Math.max(0, edge(20) - edge(40))} />
            </>
          )}
          {scale.ticks.map((tick) => (
            <g key={tick}>
              <line class="grid" x1={margin.left} x2={width - margin.right} y1={y(tick)} y2={y(tick)} />
              <text class="tick" x={margin.left - 6} y={y(tick) + 4} text-anchor="end">{signal.decibels ? `${tick}${tick === scale.ticks.at(-1) ? " dB" : ""}` : tick.toExponential(0)}</text>
            </g>
          ))}
          <path class="curve" d={line} />
          {dots && shown.map((row, i) => <Dot key={row.id} row={row} cx={x(begin + i)} cy={y(row.values[signal.key]!)} />)}
          {origin >= 0 && inside(origin) && (
            <g class="origin">
              <line x1={x(origin)} x2={x(origin)} y1={margin.top} y2={margin.top + tall} />
              <text x={x(origin) + (x(origin) > width - 90 ? -5 : 5)} text-anchor={x(origin) > width - 90 ? "end" : "start"} y={margin.top - 4}>drift origin</text>
            </g>
          )}
          {selected >= 0 && inside(selected) && <line class="selected-mark" x1={x(selected)} x2={x(selected)} y1={margin.top} y2={margin.top + tall} />}
          {pointed !== null && pointed_row && inside(pointed) && <circle class="pointed" r="4.5" cx={x(pointed)} cy={y(pointed_row.values[signal.key]!)} />}
          {brush && Math.abs(brush[1] - brush[0]) > 3 && <rect class="brush" x={Math.min(...brush)} width={Math.abs(brush[1] - brush[0])} y={margin.top} height={tall} />}
          <text class="tick" x={margin.left} y={height - 6}>{begin + 1}</text>
          <text class="tick" x={margin.left + inner / 2} y={height - 6} text-anchor="middle">{order_text(all)}</text>
          <text class="tick" x={width - margin.right} y={height - 6} text-anchor="end">{end + 1}</text>
        </svg>
        {pointed !== null && pointed_row && hover !== null && (
          <div class="tip" style={{ left: flip ? "auto" : `${x(pointed) + 10}px`, right: flip ? `${width - x(pointed) + 10}px` : "auto", top: `${margin.top + 4}px` }} aria-hidden="true">
            <b>{value_text(pointed_row.values[signal.key], signal)}{signal.decibels ? " dB" : ""}</b> {pointed_row.name}<br /><span>{pointed_row.op} · {pointed_row.verdict}</span>
          </div>
        )}
      </div>
    </section>
  );
}

function Dot({ row, cx, cy }: { row: Row; cx: number; cy: number }) {
  if (row.status === "bad") return <path class="dot bad" d={`M${cx - 3} ${cy - 3}l6 6m0 -6l-6 6`} />;
  if (row.status === "fair") return <path class="dot fair" d={`M${cx} ${cy - 3.6}l3.6 6.4h-7.2z`} />;
  return <circle class={`dot ${row.status}`} r="2.2" cx={cx} cy={cy} />;
}
