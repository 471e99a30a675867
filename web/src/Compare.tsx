// Two results of one kind: before and after, row by row.
import { useMemo, useState } from "preact/hooks";
import { as_list, as_number, as_text, type ReportResult } from "./data";
import { decibels } from "./format";
import { value_text } from "./Navigator";
import { type Row, type Rows, type Signal } from "./rows";

export interface Change {
  name: string;
  op: string;
  before: number | null;
  after: number | null;
  change: number | null; // positive: better
}

export function changes(before: Row[], after: Row[], signal: Signal): Change[] {
  const old = new Map(before.map((row) => [row.id, row]));
  const list: Change[] = [];
  for (const row of after) {
    const was = old.get(row.id);
    old.delete(row.id);
    const [a, b] = [was?.values[signal.key] ?? null, row.values[signal.key] ?? null];
    if (a === null && b === null) continue;
    list.push({ name: row.name, op: row.op, before: a, after: b, change: difference(a, b, signal) });
  }
  for (const row of old.values()) {
    const value = row.values[signal.key] ?? null;
    if (value !== null) list.push({ name: row.name, op: row.op, before: value, after: null, change: null });
  }
  return list.sort((a, b) => (a.change ?? Infinity) - (b.change ?? Infinity));
}

function difference(before: number | null, after: number | null, signal: Signal): number | null {
  if (before === null || after === null) return null;
  if (before === after) return 0;
  const change = signal.higher_is_better ? after - before : before - after;
  return Number.isNaN(change) ? null : change;
}

// What is compared of a result: its rows; of a task its metrics and classes; of findings whether they are there.
export function comparable(report: ReportResult, rows: Rows): Rows {
  const { result } = report;
  const row = (id: string, name: string, op: string, values: Row["values"]): Row => ({ id, kind: "output", name, label: name, path: [], op, order: 0, node: null, tensor: "", status: "none", verdict: "", values, raw: {} });
  if (Array.isArray(result.metrics)) {
    const score: Signal = { key: "score", label: "score, %", decibels: false, higher_is_better: true };
    return {
      rows: [
        ...as_list(result.metrics).map((each) => row(`m:${as_text(each.name)}`, as_text(each.name).replaceAll("_", " "), "metric", { score: as_number(each.candidate) })),
        ...as_list(result.classes).map((each) => row(`c:${as_number(each.label)}`, as_text(each.name), `class, ${as_text(result.class_metric)}`, { score: as_number(each.candidate) })),
      ],
      signals: [score], origin: null,
    };
  }
  if (rows.rows.length > 0 && rows.rows.every((each) => each.kind === "finding")) {
    const times: Signal = { key: "times", label: "times found", decibels: false, higher_is_better: false };
    const found = new Map<string, Row>();
    for (const each of rows.rows) {
      const id = `${each.op} ${each.name}`;
      const known = found.get(id) ?? row(id, each.name, each.op, { times: 0 });
      known.values.times = (known.values.times ?? 0) + 1;
      found.set(id, known);
    }
    return { rows: [...found.values()], signals: [times], origin: null };
  }
  return rows;
}

// Whether there is anything of two results to hold against each other.
export const is_comparable = (rows: Rows): boolean => rows.rows.length > 0 && rows.signals.length > 0;

export function Compare({ before, after, names }: { before: Rows; after: Rows; names: [string, string] }) {
  const signals = after.signals.filter((signal) => before.signals.some((each) => each.key === signal.key));
  const [key, set_key] = useState(signals[0]?.key ?? "");
  const [all, set_all] = useState(false);
  const signal = signals.find((each) => each.key === key) ?? signals[0];
  const list = useMemo(() => (signal ? changes(before.rows, after.rows, signal) : []), [before, after, signal]);
  if (!signal || list.length === 0) return null;
  const better = list.filter((each) => (each.change ?? 0) > 0).length, worse = list.filter((each) => (each.change ?? 0) < 0).length;
  const shown = all ? list : [...list.slice(0, 12), ...list.slice(-8).filter((each) => !list.slice(0, 12).includes(each))];
  return (
    <section class="compare" aria-label="Before and after">
      <header>
        <h2>Before and after</h2>
        <span class="segment" role="group" aria-label="Signal of the comparison">{signals.map((each) => <button key={each.key} aria-pressed={each.key === signal.key} onClick={() => set_key(each.key)}>{each.label}</button>)}</span>
        <span class="count">{worse} worse, {better} better, {list.length - worse - better} as before</span>
      </header>
      <table>
        <thead><tr><th class="left" scope="col">row</th><th class="left" scope="col">op</th><th scope="col">{names[0]}</th><th scope="col">{names[1]}</th><th scope="col">change</th></tr></thead>
        <tbody>
          {shown.map((each) => (
            <tr key={each.name + each.op}>
              <td class="left">{each.name}</td><td class="left">{each.op}</td><td>{value_text(each.before, signal)}</td><td>{value_text(each.after, signal)}</td>
              <td class={each.change === null ? "" : each.change < 0 ? "tone-bad" : each.change > 0 ? "tone-good" : ""}>{each.change === null ? (each.before === null ? "new" : each.after === null ? "gone" : "–") : `${each.change < 0 ? "▼ " : each.change > 0 ? "▲ " : ""}${signal.decibels ? decibels(Math.abs(each.change)) : value_text(Math.abs(each.change), signal)}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {list.length > shown.length && <button onClick={() => set_all(true)}>all {list.length} rows</button>}
    </section>
  );
}
