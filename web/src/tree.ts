// The rows as a tree of modules, filtered and sorted, flattened to the lines that are shown.
import { badness, type Row, type Signal, type Status } from "./rows";

export interface Line {
  id: string; // of a row, or "g:path"
  depth: number;
  label: string;
  row: Row | null; // null: a module
  open: boolean;
  count: number; // rows below
  worst: Row | null; // of the rows below, or the row itself
  status: Status;
}

interface Module {
  id: string;
  label: string;
  modules: Map<string, Module>;
  entries: (Row | Module)[]; // in the order of their first row
  rows: number;
  worst: Row | null;
  status: Status;
}

export interface Filter {
  text: string;
  status: string;
  op: string;
  limit: string;
}

const rank: { [status in Status]: number } = { bad: 3, fair: 2, good: 1, none: 0 };

export function passes(row: Row, filter: Filter, signal: Signal): boolean {
  if (filter.text && !`${row.name} ${row.op} ${row.verdict} ${row.message ?? ""}`.toLowerCase().includes(filter.text.toLowerCase())) return false;
  if (filter.status && row.status !== filter.status) return false;
  if (filter.op && row.op !== filter.op) return false;
  const limit = Number(filter.limit);
  if (filter.limit.trim() !== "" && Number.isFinite(limit)) {
    const value = row.values[signal.key];
    if (value === undefined || value === null) return false;
    if (!Number.isNaN(value) && (signal.higher_is_better ? !(value < limit) : !(value > limit))) return false;
  }
  return true;
}

function worse(a: Row | null, b: Row, signal: Signal): Row {
  return a && badness(a.values[signal.key], signal) >= badness(b.values[signal.key], signal) ? a : b;
}

function build(rows: Row[], signal: Signal): Module {
  const make = (id: string, label: string): Module => ({ id, label, modules: new Map(), entries: [], rows: 0, worst: null, status: "none" });
  const root = make("g:", "");
  for (const row of rows) {
    let at = root;
    const path: string[] = [];
    for (const part of [null, ...row.path]) {
      if (part !== null) {
        path.push(part);
        let next = at.modules.get(part);
        if (!next) {
          next = make(`g:${path.join(".")}`, part);
          at.modules.set(part, next);
          at.entries.push(next);
        }
        at = next;
      }
      at.rows += 1;
      at.worst = worse(at.worst, row, signal);
      if (rank[row.status] > rank[at.status]) at.status = row.status;
    }
    at.entries.push(row);
  }
  return root;
}

const is_row = (entry: Row | Module): entry is Row => "values" in entry;
// A module of one module is shown as one line: "layer1.0".
function joined(module: Module): Module {
  const [only] = module.entries;
  return module.entries.length === 1 && only && !is_row(only) ? joined({ ...only, label: `${module.label}.${only.label}` }) : module;
}

export function sorter(sort: string, signal: Signal): (a: Row, b: Row) => number {
  if (sort === "worst") {
    return (a, b) => {
      const difference = badness(b.values[signal.key], signal) - badness(a.values[signal.key], signal);
      return Number.isNaN(difference) || difference === 0 ? a.order - b.order : difference;
    };
  }
  if (sort === "name") return (a, b) => a.name.localeCompare(b.name) || a.order - b.order;
  return (a, b) => a.order - b.order;
}

export function lines_of(rows: Row[], filter: Filter, signal: Signal, sort: string, as_tree: boolean, closed: Set<string>): Line[] {
  const shown = rows.filter((row) => passes(row, filter, signal)).sort(sorter(sort, signal));
  const line = (row: Row, depth: number): Line => ({
    id: row.id, depth, label: as_tree ? row.label : row.name, row, open: false, count: 1, worst: row, status: row.status,
  });
  if (!as_tree) return shown.map((row) => line(row, 0));
  const lines: Line[] = [];
  const visit = (module: Module, depth: number) => {
    for (const entry of module.entries) {
      if (is_row(entry)) {
        lines.push(line(entry, depth));
        continue;
      }
      const inner = joined(entry);
      const [only] = inner.entries;
      if (inner.entries.length === 1 && only && is_row(only)) {
        lines.push({ ...line(only, depth), label: inner.label });
        continue;
      }
      const open = !closed.has(inner.id);
      lines.push({ id: inner.id, depth, label: inner.label, row: null, open, count: inner.rows, worst: inner.worst, status: inner.status });
      if (open) visit(inner, depth + 1);
    }
  };
  visit(build(shown, signal), 0);
  return lines;
}
