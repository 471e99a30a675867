// The rows of a result, whatever command made it: what navigator, profile, graph and inspector share.
import { as_list, as_number, as_object, as_text, type GraphData, type JsonObject, type ReportResult } from "./data";
import { module_of_name, repeated_blocks } from "./modules";

export type Status = "bad" | "fair" | "good" | "none";
export type Kind = "tensor" | "layer" | "weight" | "output" | "finding";

export interface Signal {
  key: string;
  label: string;
  decibels: boolean; // with the bands of 20 and 40 dB; else an absolute figure, on a logarithmic axis
  higher_is_better: boolean;
}

export interface Row {
  id: string;
  kind: Kind;
  name: string;
  label: string; // the last part of the name
  path: string[]; // modules from the root inwards
  op: string;
  order: number; // of execution
  node: number | null; // in the graph
  tensor: string; // of the candidate
  status: Status;
  verdict: string;
  message?: string; // of a finding
  values: { [signal: string]: number | null };
  raw: JsonObject;
}

export interface Rows {
  rows: Row[];
  signals: Signal[];
  origin: number | null; // the row at which drift begins
}

const known_labels: { [key: string]: string } = {
  cumulative_sqnr_db: "cumulative SQNR",
  local_sqnr_db: "local SQNR",
  introduced_sqnr_db: "introduced SQNR",
  intended_sqnr_db: "intended SQNR",
  weight_sqnr_db: "weight SQNR",
  sqnr_db: "SQNR",
  max_abs_diff: "max abs diff",
  mean_abs_diff: "mean abs diff",
  introduced_max_abs_diff: "introduced max abs diff",
  cosine_similarity: "cosine similarity",
};
const first_signals = ["cumulative_sqnr_db", "local_sqnr_db", "introduced_sqnr_db", "sqnr_db", "max_abs_diff"];
const no_signals = new Set(["nonfinite", "per_channel_gain_db"]);

export function signal_of(key: string): Signal {
  const decibels = key.endsWith("_db");
  const label = known_labels[key] ?? key.replace(/_db$/, " (dB)").replaceAll("_", " ");
  return { key, label, decibels, higher_is_better: decibels || key === "cosine_similarity" };
}

const damage: { [verdict: string]: Status } = {
  originator: "bad",
  inheritor: "fair",
  healthy: "good",
  exact: "good",
  "clipped by design": "good",
  unmatched: "none",
};

function values_of(raw: JsonObject): { [signal: string]: number | null } {
  const values: { [signal: string]: number | null } = {};
  for (const [key, value] of Object.entries(raw)) {
    if (no_signals.has(key)) continue;
    const number = as_number(value);
    if (number !== null && (key.endsWith("_db") || key in known_labels)) values[key] = number;
  }
  return values;
}

type Draft = Omit<Row, "order" | "path" | "node" | "label"> & { path?: string[] };

function debug_rows(result: JsonObject): Draft[] {
  const good = as_number(as_object(result.run).good_db) ?? 40;
  const low = as_number(as_object(result.run).low_db) ?? 20;
  const by_decibels = (value: number | null): Status =>
    value === null || Number.isNaN(value) ? "none" : value < low ? "bad" : value < good ? "fair" : "good";
  const activations = as_list(result.activations).map((raw): Draft => {
    const name = as_text(raw.tensor_name);
    const verdict = as_text(raw.verdict);
    return { id: `t:${name}`, kind: "tensor", name, op: as_text(raw.op), tensor: name, status: damage[verdict] ?? "none", verdict, values: values_of(raw), raw };
  });
  const weights = as_list(result.weights).map((raw): Draft => {
    const name = as_text(raw.weight_name);
    const status = by_decibels(as_number(raw.weight_sqnr_db));
    return { id: `w:${name}`, kind: "weight", name, op: "weight", tensor: name, status, verdict: `${as_text(raw.dtype)}, ${as_text(raw.granularity).replaceAll("_", " ")}`, values: values_of(raw), raw };
  });
  const outputs = as_list(result.model_outputs).map((raw): Draft => {
    const name = as_text(raw.output_name);
    const status = by_decibels(as_number(raw.cumulative_sqnr_db));
    return { id: `o:${name}`, kind: "output", name, op: "output", tensor: name, status, verdict: as_text(raw.status), values: values_of(raw), raw, path: [] };
  });
  return [...activations, ...weights, ...outputs];
}

function layer_row(raw: JsonObject, kind: Kind): Draft {
  const name = as_text(raw.layer);
  const compared = as_number(raw.max_abs_diff) !== null;
  const exceeds = raw.exceeds_tol === true;
  const cause = as_text(raw.cause);
  const status: Status = exceeds ? (cause === "inherited" || cause === "rounding" ? "fair" : "bad") : compared ? "good" : "none";
  const verdict = exceeds ? cause : compared ? "within tolerance" : as_text(raw.aligned_by) || "not compared";
  const dotted = as_text(raw.type) !== "" && !name.includes("/");
  return {
    id: `${kind[0]}:${name}`, kind, name, op: as_text(raw.type), tensor: as_text(raw.tensor), status, verdict, values: values_of(raw), raw,
    ...(dotted ? { path: name.split(".").slice(0, -1) } : {}),
  };
}

function layers_rows(result: JsonObject): Draft[] {
  return [
    ...as_list(result.layers).map((raw) => layer_row(raw, "layer")),
    ...as_list(result.model_outputs).map((raw) => ({ ...layer_row(raw, "output"), path: [], op: "output" })),
  ];
}

function pair_rows(list: JsonObject[], kind: Kind): Draft[] {
  return list.map((raw) => {
    const name = as_text(raw.name);
    const metrics = as_object(raw.metrics);
    const values: { [signal: string]: number | null } = {};
    for (const key of Object.keys(known_labels)) {
      const value = as_number(metrics[key]) ?? as_number(metrics[`${key}_mean`]);
      if (value !== null) values[key] = value;
    }
    const pass = raw.pass === true;
    const verdict = pass ? "ok" : ((raw.failures as string[] | undefined) ?? []).join("; ") || as_text(raw.status);
    return { id: `o:${name}`, kind, name, op: kind, tensor: name, status: pass ? "good" : "bad", verdict, values, raw, path: [] };
  });
}

const severity: { [name: string]: Status } = { error: "bad", warning: "fair", note: "none" };

function finding_rows(result: JsonObject): Draft[] {
  const rows: Draft[] = [];
  for (const finding of as_list(result.findings)) {
    for (const found of [finding, ...as_list(finding.more)]) {
      const subject = as_object(found.subject);
      const name = as_text(subject.name) || as_text(as_object(result.run).candidate);
      rows.push({
        id: `f:${as_text(finding.id)}:${rows.length}`, kind: "finding", name, op: as_text(finding.id), tensor: as_text(subject.name),
        status: severity[as_text(finding.severity)] ?? "none", verdict: as_text(finding.severity), message: as_text(found.evidence), values: {},
        raw: { id: finding.id ?? null, severity: finding.severity ?? null, subject: found.subject ?? null, evidence: found.evidence ?? null, remedy: finding.remedy ?? null },
        path: [as_text(finding.id)],
      });
    }
  }
  return rows;
}

function drafts_of(result: JsonObject): Draft[] {
  if (Array.isArray(result.activations)) return debug_rows(result);
  if (Array.isArray(result.layers)) return layers_rows(result);
  if (Array.isArray(result.findings)) return finding_rows(result);
  if (Array.isArray(result.outputs) && result.command === "eval") return pair_rows(as_list(result.outputs), "output");
  if (Array.isArray(result.arrays)) return pair_rows(as_list(result.arrays), "tensor");
  return [];
}

// Which node of the graph a row speaks of. ONNX Runtime adds to the name of a weight that it quantizes.
function node_finder(graph: GraphData | undefined): (row: Draft) => number | null {
  if (!graph) return () => null;
  const writers = new Map<string, number>();
  const readers = new Map<string, number>();
  const names = new Map<string, number>();
  graph.nodes.forEach((node, index) => {
    if (!names.has(node.name)) names.set(node.name, index);
    for (const tensor of node.out) if (tensor >= 0) writers.set(graph.tensors[tensor]!, index);
    for (const tensor of node.in) if (tensor >= 0 && !readers.has(graph.tensors[tensor]!)) readers.set(graph.tensors[tensor]!, index);
  });
  const find = (row: Draft, tensor: string): number | undefined =>
    (row.kind === "finding" ? names.get(tensor) : undefined) ??
    writers.get(tensor) ??
    (row.kind === "weight" || row.kind === "finding" ? readers.get(tensor) ?? readers.get(`${tensor}_quantized`) : undefined);
  return (row) => {
    let node = names.get(as_text(row.raw.node)) ?? find(row, row.tensor);
    // What is in a subgraph is named with it: "If_0.then_branch/weight".
    for (let rest = row.tensor; node === undefined && row.kind === "finding" && rest.includes("/"); ) {
      rest = rest.slice(rest.indexOf("/") + 1);
      node = find(row, rest);
    }
    return node ?? null;
  };
}

// A diagnosis holds the results that it rests on; the one that looked deepest has the rows.
function deepest(result: JsonObject): JsonObject {
  if (result.command !== "diagnose") return result;
  return as_object(result.debug ?? result.layers ?? result.eval ?? result.check);
}

export function make_rows(report: ReportResult): Rows {
  const result = deepest(report.result);
  const find_node = node_finder(report.graph);
  const seen = new Set<string>();
  const rows = drafts_of(result).map((draft, order): Row => {
    let id = draft.id;
    while (seen.has(id)) id += "'";
    seen.add(id);
    const node = find_node(draft);
    const module = node === null ? undefined : report.graph?.nodes[node]?.module;
    const path = draft.path ?? (module ? module.split(".") : module_of_name(draft.name));
    const label = draft.kind === "layer" && draft.path ? draft.name.slice(draft.name.lastIndexOf(".") + 1) : draft.name;
    return { ...draft, id, node, path, order, label: label.slice(label.lastIndexOf("/") + 1) || draft.name };
  });
  if (rows.some((row) => row.kind === "tensor" || row.kind === "layer") && rows.every((row) => row.path.length === 0))
    repeated_blocks(rows);
  const keys = new Set(rows.flatMap((row) => Object.keys(row.values)));
  const ordered = [...first_signals.filter((key) => keys.has(key)), ...[...keys].filter((key) => !first_signals.includes(key))];
  return { rows, signals: ordered.map(signal_of), origin: origin_of(result, rows) };
}

// As the command says it, else the first row that is bad by itself.
function origin_of(result: JsonObject, rows: Row[]): number | null {
  const named = as_text(result.drift_origin);
  const index = rows.findIndex((row) => (named ? row.name === named : row.kind === "tensor" && row.status === "bad"));
  return index < 0 ? null : index;
}

// What sorts first when the worst are asked for: NaN, then the worst figure; nothing comes last.
export function badness(value: number | null | undefined, signal: Signal): number {
  if (value === null || value === undefined) return -Infinity;
  if (Number.isNaN(value)) return Infinity;
  return signal.higher_is_better ? -value : value;
}

export const worst_row = (rows: Row[], signal: Signal): Row | undefined =>
  rows.reduce<Row | undefined>((worst, row) => (worst && badness(worst.values[signal.key], signal) >= badness(row.values[signal.key], signal) ? worst : row), undefined);

// What is looked at where nothing is chosen: where drift begins, else the worst.
export function first_selected({ rows, signals, origin }: Rows): string {
  const row = origin === null ? worst_row(rows, signals[0] ?? signal_of("sqnr_db")) : rows[origin];
  return row?.id ?? "";
}

export const is_few = (rows: Row[]): boolean => rows.length > 0 && rows.length <= 3 && rows.every((row) => row.kind === "output");

// Between 0 (bad) and 1 (good), for colours; null where there is no figure.
export function goodness(value: number | null | undefined, signal: Signal, largest = 1): number | null {
  if (value === null || value === undefined) return null;
  if (Number.isNaN(value)) return 0;
  if (signal.decibels) return Math.min(1, Math.max(0, value / 60));
  if (signal.key === "cosine_similarity") return Math.min(1, Math.max(0, Math.log10(Math.max(1e-9, 1 - value)) / -6));
  if (!(value > 0)) return 1;
  const decades = Math.log10(Math.max(largest, 1e-30) / value);
  return Math.min(1, Math.max(0, decades / 6));
}

// The figures at the two ends of the colours, the bad one first.
export function colour_ends(signal: Signal, largest: number): [string, string] {
  if (signal.decibels) return ["0 dB", "60 dB"];
  if (signal.key === "cosine_similarity") return ["0", "0.999999"];
  return [largest.toPrecision(2), (largest * 1e-6).toPrecision(2)];
}

// Of a node by the row that stands for it: a finding by its severity, others by their figure.
export function row_goodness(row: Row | undefined, signal: Signal, largest: number): number | null {
  if (!row) return null;
  return row.kind === "finding" ? { bad: 0, fair: 0.33, good: 1, none: null }[row.status] : goodness(row.values[signal.key], signal, largest);
}
