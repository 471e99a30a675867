import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { ramp_colour } from "./colour";
import { count_text, decibels, elide_middle, figure } from "./format";
import { goodness, type Row, type Rows, type Signal } from "./rows";
import type { State } from "./state";
import { lines_of, type Line } from "./tree";
import { visible_height } from "./visible";

export const status_symbol = { bad: "✗", fair: "▲", good: "✓", none: "–" } as const;
const status_word = { bad: "bad", fair: "fair", good: "good", none: "no verdict" } as const;
const row_height = 26;

export const value_text = (value: number | null | undefined, signal: Signal): string => (signal.decibels ? decibels(value) : figure(value));

interface Props {
  rows: Rows;
  signal: Signal;
  largest: number;
  state: State;
  change: (part: Partial<State>) => void;
}

export function Navigator({ rows, signal, largest, state, change }: Props) {
  const [closed, set_closed] = useState<Set<string>>(new Set());
  const lines = useMemo(
    () => lines_of(rows.rows, { text: state.filter, status: state.status, op: state.op, limit: state.limit }, signal, state.sort, state.tree, closed),
    [rows, state.filter, state.status, state.op, state.limit, signal, state.sort, state.tree, closed],
  );
  const ops = useMemo(() => [...new Set(rows.rows.map((row) => row.op).filter(Boolean))].sort(), [rows]);
  const toggle = (id: string) => {
    const next = new Set(closed);
    if (!next.delete(id)) next.add(id);
    set_closed(next);
  };
  const findings = rows.signals.length === 0;
  const weights = rows.rows.some((row) => row.kind === "weight");
  const count = lines.filter((line) => line.row).length;
  return (
    <nav class="pane navigator" aria-label="Rows by module">
      <div class="filters">
        <input type="search" id="filter" placeholder="Filter  ( / )" aria-label="Filter rows by text" value={state.filter} onInput={(event) => change({ filter: event.currentTarget.value })} />
        <select aria-label="Operator" value={state.op} onChange={(event) => change({ op: event.currentTarget.value })}>
          <option value="">{findings ? "all findings" : "all operators"}</option>
          {ops.map((op) => <option key={op} value={op}>{op}</option>)}
        </select>
        <select aria-label="Verdict" value={state.status} onChange={(event) => change({ status: event.currentTarget.value })}>
          <option value="">all verdicts</option>
          {(["bad", "fair", "good", "none"] as const).map((status) => <option key={status} value={status}>{status_symbol[status]} {status_word[status]}</option>)}
        </select>
        {!findings && (
          <input class="limit" inputMode="decimal" aria-label={`Only rows ${signal.higher_is_better ? "below" : "above"} this ${signal.label}`} placeholder={signal.higher_is_better ? "below" : "above"} value={state.limit} onInput={(event) => change({ limit: event.currentTarget.value })} />
        )}
      </div>
      <div class="filters second">
        <span class="segment" role="group" aria-label="Order of rows">
          {(["order", "worst", "name"] as const).map((sort) => (
            <button key={sort} aria-pressed={state.sort === sort} onClick={() => change({ sort })} title={{ order: weights ? "in the order of execution, weights by name" : "in the order of execution", worst: "the worst first", name: "by name" }[sort]}>{sort}</button>
          ))}
        </span>
        <button aria-pressed={state.tree} onClick={() => change({ tree: !state.tree })} title="Modules as a tree">tree</button>
        <span class="count" role="status">{count === rows.rows.length ? count_text(count, "row") : `${count} of ${count_text(rows.rows.length, "row")}`}</span>
        {!findings && <span class="column-title">{signal.label}{signal.decibels ? ", dB" : ""}</span>}
      </div>
      <Lines lines={lines} signal={signal} largest={largest} selected={state.selected} select={(id) => change({ selected: id })} toggle={toggle} />
    </nav>
  );
}

interface LinesProps {
  lines: Line[];
  signal: Signal;
  largest: number;
  selected: string;
  select: (id: string) => void;
  toggle: (id: string) => void;
}

// Only what is in view is in the document: thousands of rows scroll as a few do.
function Lines({ lines, signal, largest, selected, select, toggle }: LinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, set_top] = useState(0);
  const [height, set_height] = useState(600);
  const [width, set_width] = useState(400);
  useLayoutEffect(() => {
    const measure = () => {
      set_height(box.current?.clientHeight ?? 600);
      set_width(box.current?.clientWidth ?? 400);
    };
    measure();
    const observer = new ResizeObserver(measure);
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const at = lines.findIndex((line) => line.id === selected);
  useEffect(() => {
    if (at < 0 || !box.current) return;
    const y = at * row_height, shown = visible_height(box.current);
    if (y < box.current.scrollTop) box.current.scrollTop = y - 2 * row_height;
    else if (y + row_height > box.current.scrollTop + shown) box.current.scrollTop = y - shown + 3 * row_height;
  }, [selected, at]);
  const first = Math.max(0, Math.floor(top / row_height) - 10);
  const last = Math.min(lines.length, Math.ceil((top + height) / row_height) + 10);
  const on_key = (event: KeyboardEvent) => {
    const line = lines[at];
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -lines.length, End: lines.length }[event.key];
    if (move !== undefined) {
      const next = lines[Math.min(lines.length - 1, Math.max(0, (at < 0 ? (move > 0 ? -1 : 0) : at) + move))];
      if (next) select(next.id);
    } else if ((event.key === "ArrowLeft" || event.key === "ArrowRight" || event.key === "Enter") && line && !line.row) {
      if (event.key === "Enter" || line.open === (event.key === "ArrowLeft")) toggle(line.id);
    } else if (event.key === "ArrowLeft" && line && line.depth > 0) {
      for (let i = at; i >= 0; --i) if (lines[i]!.depth < line.depth) { select(lines[i]!.id); break; }
    } else return;
    event.preventDefault();
  };
  return (
    <div class="lines" ref={box} role="tree" aria-label="Rows" tabIndex={0} aria-activedescendant={at >= first && at < last ? `line-${at}` : undefined} onScroll={(event) => set_top(event.currentTarget.scrollTop)} onKeyDown={on_key}>
      <div role="presentation" style={{ height: `${lines.length * row_height}px`, position: "relative" }}>
        {lines.slice(first, last).map((line, i) => (
          <LineView key={line.id} line={line} index={first + i} total={lines.length} width={width} signal={signal} largest={largest} selected={line.id === selected} select={select} toggle={toggle} />
        ))}
      </div>
      {lines.length === 0 && <p class="empty">Nothing passes the filter.</p>}
    </div>
  );
}

function LineView({ line, index, total, width, signal, largest, selected, select, toggle }: { line: Line; index: number; total: number; width: number; signal: Signal; largest: number; selected: boolean; select: (id: string) => void; toggle: (id: string) => void }) {
  const value = line.worst?.values[signal.key];
  const good = goodness(value, signal, largest);
  const text = value_text(value, signal);
  const module = line.row === null;
  const finding = line.worst?.kind === "finding";
  const op = !line.row ? `${line.count}` : finding ? "" : line.row.op;
  const message = line.row?.message ?? "";
  const indent = 8 + Math.min(line.depth, 9) * 14;
  // Names differ at their ends as often as at their beginnings: what is too long loses its middle.
  const whole = width - indent - 46 - (finding ? 0 : 92) - Math.min(120, 6.3 * op.length);
  const room = Math.floor((message ? whole * 0.4 : whole) / 6.9);
  const description = `${line.label}, ${module ? `${line.count} rows, ` : ""}${finding ? message : `${module ? "worst " : ""}${signal.label} ${text}`}, ${line.row ? line.row.verdict : status_word[line.status]}`;
  return (
    <div
      id={`line-${index}`} role="treeitem" aria-level={line.depth + 1} aria-setsize={total} aria-posinset={index + 1} aria-selected={selected} aria-label={description}
      {...(module ? { "aria-expanded": line.open } : {})}
      class={`line ${module ? "module" : "leaf"} ${selected ? "selected" : ""}`}
      style={{ transform: `translateY(${index * row_height}px)`, paddingLeft: `${indent}px` }}
      title={line.row ? `${line.row.name}\n${line.row.op} · ${line.row.verdict}${message && `\n${message}`}` : `${line.label}: ${line.count} rows`}
      onClick={() => select(line.id)} onDblClick={() => module && toggle(line.id)}
    >
      <span class="twist" aria-hidden="true" onClick={(event) => { if (module) { event.stopPropagation(); toggle(line.id); } }}>{module ? (line.open ? "▾" : "▸") : ""}</span>
      <span class={`status ${line.status}`} aria-hidden="true">{status_symbol[line.status]}</span>
      <span class="name">{elide_middle(line.label, Math.max(8, room))}</span>
      {message && <span class="message">{message}</span>}
      <span class="op">{op}</span>
      {!finding && <span class="value"><span class="figure">{module && text !== "–" ? <small>worst </small> : ""}{text}</span>
        {good !== null && <span class="bar"><span style={{ width: `${Math.round(100 * Math.max(0.03, good))}%`, background: ramp_colour(good) }} /></span>}
      </span>}
    </div>
  );
}

export const row_by_id = (rows: Row[], id: string): Row | undefined => rows.find((row) => row.id === id);
