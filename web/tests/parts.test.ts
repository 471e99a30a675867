import { describe, expect, it } from "vitest";
import { arrange } from "../src/arrange";
import { changes, comparable } from "../src/Compare";
import type { GraphData, ReportResult } from "../src/data";
import { as_number } from "../src/data";
import { decibels, elide_middle, figure } from "../src/format";
import { fold_graph, opened_at_first } from "../src/graph";
import { found_nodes } from "../src/GraphView";
import { lay_out } from "../src/layout";
import { find_repeats, module_of_name } from "../src/modules";
import { best_of_each, pareto_front, round_ticks } from "../src/Points";
import { along_network, make_scale, order_text } from "../src/Profile";
import { scale_of } from "../src/RunMap";
import { badness, first_selected, goodness, is_few, make_rows, row_goodness, signal_of } from "../src/rows";
import { initial_state, read_state, write_state } from "../src/state";
import { count_flips, difference_ticks, flips_of } from "../src/Task";
import { lines_of } from "../src/tree";
import { first_error, samples_of, verdict_text } from "../src/Verdict";
import { fit_view, least_scale } from "../src/view";
import { distance_to } from "../src/visible";

const debug_result = (rows: [string, number | string | null, string][]): ReportResult => ({
  result: {
    command: "debug", run: { low_db: 20, good_db: 40 }, weights: [], model_outputs: [],
    activations: rows.map(([tensor_name, cumulative_sqnr_db, verdict]) => ({ tensor_name, cumulative_sqnr_db, verdict, op: "Conv", node: "" })),
  },
});
const no_filter = { text: "", status: "", op: "", limit: "" };

describe("numbers", () => {
  it("read what JSON cannot hold", () => {
    expect(["inf", "-inf", "nan", null, 3].map(as_number)).toEqual([Infinity, -Infinity, NaN, null, 3]);
  });
  it("are shown as in the terminal", () => {
    expect([null, NaN, Infinity, 12.345].map(decibels)).toEqual(["–", "nan", "exact", "12.35"]);
    expect([0, 1e-7, 123456, 0.5, null].map(figure)).toEqual(["0", "1.00e-7", "1.23e+5", "0.5", "–"]);
  });
  it("shorten names in the middle", () => {
    expect(elide_middle("/layer1/conv/Conv_output_0", 11)).toHaveLength(11);
    expect(elide_middle("short", 11)).toBe("short");
  });
});

describe("the map of a run", () => {
  it("is coloured over the figures that there are", () => {
    const decibels = scale_of([20, 30, Infinity, null, 25], false);
    expect([decibels.worst, decibels.best]).toEqual([20, 30]);
    expect([20, 25, 30, Infinity, null].map(decibels.goodness)).toEqual([0, 0.5, 1, 1, null]);
  });
  it("takes KL by its logarithm, lower being better", () => {
    const nats = scale_of([1e-4, 1e-2], true);
    expect([nats.worst, nats.best]).toEqual([1e-2, 1e-4]);
    expect(nats.goodness(1e-3)).toBeCloseTo(0.5);
    expect(scale_of([0, 0], true).goodness(0)).toBe(0.5);
  });
});

describe("modules", () => {
  it("are read from the exporter's names", () => {
    expect(module_of_name("/layer1/layer1.0/conv1/Conv_output_0")).toEqual(["layer1", "0", "conv1"]);
    expect(module_of_name("/blocks.0/ln1/Add_output_0")).toEqual(["blocks", "0", "ln1"]);
    expect(module_of_name("logits")).toEqual([]);
  });
  it("are blocks that repeat where nothing is named", () => {
    const block = ["Conv", "Relu", "Add", "Mul"];
    expect(find_repeats(["Shape", ...block, ...block, ...block, "Gemm"])).toEqual([{ begin: 1, period: 4, times: 3 }]);
    expect(find_repeats(["Conv", "Conv", "Conv", "Conv", "Conv", "Conv"])).toEqual([]);
    const { rows } = make_rows({ result: { command: "layers", layers: [...block, ...block].map((type, i) => ({ layer: `t${i}`, type: "", tensor: `t${i}`, op: type, max_abs_diff: 0 })), model_outputs: [] } });
    expect(rows).toHaveLength(8);
  });
});

describe("rows", () => {
  const { rows, origin, signals } = make_rows(debug_result([["/a/x", 50, "healthy"], ["/a/y", 10, "originator"], ["/b/z", "nan", "inheritor"], ["/b/w", null, "unmatched"]]));
  it("carry verdicts and the origin", () => {
    expect(rows.map((row) => row.status)).toEqual(["good", "bad", "fair", "none"]);
    expect(origin).toBe(1);
    expect(signals.map((signal) => signal.key)).toEqual(["cumulative_sqnr_db"]);
  });
  it("take any new figure in decibels as a signal", () => {
    const made = debug_result([["x", 50, "healthy"]]);
    (made.result.activations as { [key: string]: number }[])[0]!.alone_on_db = 31;
    expect(make_rows(made).signals.map((signal) => signal.key)).toContain("alone_on_db");
  });
  it("sort NaN as the worst and nothing as the best", () => {
    const signal = signal_of("cumulative_sqnr_db");
    const lines = lines_of(rows, no_filter, signal, "worst", false, new Set());
    expect(lines.map((line) => line.label)).toEqual(["/b/z", "/a/y", "/a/x", "/b/w"]);
    expect(badness(null, signal)).toBe(-Infinity);
    expect(goodness(NaN, signal)).toBe(0);
  });
  it("show the worst below a module, and filter", () => {
    const signal = signal_of("cumulative_sqnr_db");
    const lines = lines_of(rows, no_filter, signal, "order", true, new Set());
    expect(lines.map((line) => `${line.depth} ${line.label}`)).toEqual(["0 a", "1 x", "1 y", "0 b", "1 z", "1 w"]);
    expect(lines[0]!.worst!.name).toBe("/a/y");
    expect(lines_of(rows, no_filter, signal, "order", true, new Set(["g:a"])).map((line) => line.label)).toEqual(["a", "b", "z", "w"]);
    expect(lines_of(rows, { ...no_filter, limit: "20" }, signal, "order", false, new Set()).map((line) => line.label)).toEqual(["/a/y", "/b/z"]);
    expect(lines_of(rows, { ...no_filter, status: "bad" }, signal, "order", false, new Set())).toHaveLength(1);
    expect(lines_of(rows, { ...no_filter, text: "B/W" }, signal, "order", false, new Set())).toHaveLength(1);
  });
  it("colour a node by the severity of its finding: a note is no error", () => {
    const check = make_rows({ result: { command: "check", findings: ["error", "warning", "note"].map((severity) => ({ id: severity, severity, subject: { name: "x" } })) } });
    expect(check.rows.map((row) => row_goodness(row, signal_of("sqnr_db"), 1))).toEqual([0, 0.33, null]);
    expect(row_goodness(rows[1], signal_of("cumulative_sqnr_db"), 1)).toBeCloseTo(1 / 6);
    expect(row_goodness(undefined, signal_of("sqnr_db"), 1)).toBeNull();
  });
  it("begin at the drift origin, else at the worst, else at the first", () => {
    const first = (list: [string, number | string | null, string][]) => first_selected(make_rows(debug_result(list)));
    expect(first([["x", 50, "healthy"], ["y", 10, "originator"], ["z", 5, "inheritor"]])).toBe("t:y");
    expect(first([["x", 50, "healthy"], ["y", 30, "healthy"], ["z", null, "unmatched"]])).toBe("t:y");
    expect(first([["x", "inf", "exact"], ["y", "inf", "exact"]])).toBe("t:x");
    expect(first([])).toBe("");
    expect(first_selected(make_rows({ result: { command: "check", findings: [{ id: "a", severity: "error", subject: { name: "n" } }] } }))).toBe("f:a:0");
  });
  it("of findings carry their message, and the first error is said in words", () => {
    const result = { command: "check", findings: [
      { id: "dead-node", severity: "note", subject: { name: "n" }, evidence: "nothing reads it", remedy: "-" },
      { id: "output-differs", severity: "error", subject: { name: "y" }, evidence: "it differs by 1", remedy: "Export in eval mode.", more: [{ subject: { name: "y" }, evidence: "by 2" }] },
    ] };
    expect(make_rows({ result }).rows.map((row) => row.message)).toEqual(["nothing reads it", "it differs by 1", "by 2"]);
    expect(first_error(result).map((block) => block.kind === "paragraph" && block.text)).toEqual([["output-differs: y: it differs by 1 (and 1 more)", "bad"], "Export in eval mode."]);
    expect(first_error({ command: "check", findings: [] })).toEqual([]);
    expect(lines_of(make_rows({ result }).rows, { ...no_filter, text: "by 2" }, signal_of("sqnr_db"), "order", false, new Set())).toHaveLength(1);
  });
  it("of eval are few: its outputs", () => {
    const outputs = (count: number) => make_rows({ result: { command: "eval", outputs: Array.from({ length: count }, (_, i) => ({ name: `y${i}`, pass: true, metrics: {} })) } }).rows;
    expect([0, 1, 3, 4].map((count) => is_few(outputs(count)))).toEqual([false, true, true, false]);
    expect(is_few(rows.slice(0, 1))).toBe(false);
  });
  it("of a quantized weight belong to the node that reads it", () => {
    const made = debug_result([]);
    made.result.weights = [{ weight_name: "fc.weight", weight_sqnr_db: 40 }];
    made.graph = { tensors: ["fc.weight_quantized", "y"], types: {}, weights: [0], sources: {}, graphs: [], nodes: [{ name: "dq", op: "DequantizeLinear", graph: 0, in: [0], out: [1] }] };
    expect(make_rows(made).rows[0]!.node).toBe(0);
  });
  it("with equal ids stay apart", () => {
    const twice = make_rows(debug_result([["x", 1, "healthy"], ["x", 2, "healthy"]]));
    expect(new Set(twice.rows.map((row) => row.id)).size).toBe(2);
  });
});

// input -> Q -> DQ -> Conv (weight behind DQ) -> Q -> DQ -> If{ Relu } -> output
const graph: GraphData = {
  tensors: ["input", "q", "dq", "w", "wf", "c", "cq", "cdq", "out", "inner"],
  types: {}, weights: [3],
  graphs: [{ name: "", inputs: [0], outputs: [8] }, { name: "then_branch", owner: 5, inputs: [], outputs: [9] }],
  nodes: [
    { name: "q0", op: "QuantizeLinear", graph: 0, in: [0], out: [1] },
    { name: "dq0", op: "DequantizeLinear", graph: 0, in: [1], out: [2] },
    { name: "dqw", op: "DequantizeLinear", graph: 0, in: [3], out: [4] },
    { name: "conv", op: "Conv", graph: 0, in: [2, 4], out: [5], module: "net.conv" },
    { name: "q1", op: "QuantizeLinear", graph: 0, in: [5], out: [6] },
    { name: "if", op: "If", graph: 0, in: [7], out: [8] },
    { name: "dq1", op: "DequantizeLinear", graph: 0, in: [6], out: [7] },
    { name: "relu", op: "Relu", graph: 1, in: [7], out: [9] },
    { name: "neg", op: "Neg", graph: 1, in: [9], out: [] },
  ],
  sources: {},
};

describe("the graph", () => {
  const folded = fold_graph(graph);
  it("folds quantizers into the node whose tensor they round", () => {
    expect(folded.nodes.map((node) => node.op)).toEqual(["input", "Conv", "If", "Relu", "Neg", "output"]);
    const conv = folded.nodes[1]!;
    expect(conv.quantized).toBe(true);
    expect(conv.weights).toEqual(["w"]);
    expect(folded.by_index.get(4)).toBe(conv);
    expect(folded.edges.map((edge) => `${edge.from.op}-${edge.to.op}`).sort()).toEqual(["Conv-If", "Conv-Relu", "If-output", "Relu-Neg", "input-Conv"]);
  });
  it("puts subgraphs inside, and lays out what is open", () => {
    const closed = lay_out(folded, new Set());
    expect(closed.boxes.some((box) => box.node?.op === "Relu")).toBe(false);
    const open = lay_out(folded, new Set(opened_at_first(folded.root)));
    const relu = open.boxes.find((box) => box.node?.op === "Relu")!;
    const around = open.boxes.find((box) => box.open && box.group!.label === "then_branch")!;
    expect(relu.y).toBeGreaterThan(around.y);
    expect(relu.y + relu.height).toBeLessThan(around.y + around.height);
    const conv = open.boxes.find((box) => box.node?.op === "Conv")!, input = open.boxes.find((box) => box.node?.op === "input")!;
    expect(conv.y).toBeGreaterThan(input.y + input.height);
  });
  it("is searched by label and operator", () => {
    expect(found_nodes(folded, "RELU ").map((node) => node.op)).toEqual(["Relu"]);
    expect(found_nodes(folded, " ")).toEqual([]);
  });
  it("fits whole where it can be read, else around what is selected or from its top", () => {
    const window = { width: 600, height: 400 };
    expect(fit_view(window, { width: 200, height: 300 })).toEqual({ k: 1, x: 200, y: 50 });
    const tall = { width: 200, height: 3000 };
    expect(fit_view(window, tall)).toMatchObject({ k: least_scale, y: 0 });
    expect(fit_view(window, tall, { x: 90, y: 1185, width: 20, height: 30 }).y).toBeCloseTo(200 - 1200 * least_scale);
    expect(fit_view(window, tall, { x: 90, y: 2960, width: 20, height: 30 }).y).toBeCloseTo(400 - 3000 * least_scale);
  });
  it("of 2,000 nameless nodes is laid out whole", { timeout: 600_000 }, () => {
    const count = 2000;
    const chain: GraphData = {
      tensors: Array.from({ length: count + 1 }, (_, i) => `t${i}`), types: {}, weights: [], sources: {},
      graphs: [{ name: "", inputs: [0], outputs: [count] }],
      nodes: Array.from({ length: count }, (_, i) => ({ name: `n${i}`, op: `Op${(i * i) % 97}`, graph: 0, in: i > 3 ? [i, i - 3] : [i], out: [i + 1] })),
    };
    const large = fold_graph(chain);
    const layout = lay_out(large, new Set(large.groups.keys()));
    expect(layout.boxes.filter((box) => box.node && box.node.index >= 0)).toHaveLength(count);
  });
});

describe("what a graph shows", () => {
  const node = (name: string, op: string, inputs: number[], out: number, module = "") => ({ name, op, graph: 0, in: inputs, out: [out], module });
  it("leaves out what is computed from weights alone", () => {
    const folded = fold_graph({
      tensors: ["x", "w", "copy", "y"], types: {}, weights: [1], sources: {}, graphs: [{ name: "", inputs: [0], outputs: [3] }],
      nodes: [node("same", "Identity", [1], 2), node("mul", "MatMul", [0, 2], 3)],
    });
    expect(folded.nodes.filter((each) => each.index >= 0).map((each) => each.op)).toEqual(["MatMul"]);
    expect(folded.by_index.get(0)?.op).toBe("MatMul");
  });
  it("shows a module that is called twice at both places", () => {
    const folded = fold_graph({
      tensors: ["x", "a", "b", "c", "y"], types: {}, weights: [], sources: {}, graphs: [{ name: "", inputs: [0], outputs: [4] }],
      nodes: [node("c1", "Conv", [0], 1, "block.conv1"), node("r1", "Relu", [1], 2, "block.relu"), node("c2", "Conv", [2], 3, "block.conv2"), node("r2", "Relu", [3], 4, "block.relu")],
    });
    const [block] = folded.root.groups;
    expect(block!.label).toBe("block");
    expect(block!.groups).toEqual([]);
    expect(block!.nodes.map((each) => each.module).sort()).toEqual(["conv1", "conv2", "relu", "relu"]);
  });
});

describe("layers of boxes", () => {
  const box = (id: string, width = 80) => ({ id, width, height: 30 });
  const arranged = (ids: string[], edges: [string, string][]) => {
    const { places, routes } = arrange(ids.map((id, i) => box(id, 60 + 13 * i)), edges);
    return { at: new Map(ids.map((id, i) => [id, { ...places[i]!, width: 60 + 13 * i }])), routes };
  };
  it("lead downwards, chains straight, and nothing overlaps", () => {
    const { at, routes } = arranged(["a", "b", "c", "d", "e", "f"], [["a", "b"], ["b", "c"], ["c", "d"], ["a", "d"], ["d", "e"], ["c", "f"]]);
    for (const [from, to] of [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]]) expect(at.get(to!)!.y).toBeGreaterThan(at.get(from!)!.y);
    expect(routes.get("a d")).toHaveLength(2);
    const list = [...at.values()];
    for (const one of list) for (const other of list) if (one !== other && one.y === other.y) expect(one.x + one.width <= other.x || other.x + other.width <= one.x).toBe(true);
    const centre = (id: string) => at.get(id)!.x + at.get(id)!.width / 2;
    expect(Math.abs(centre("d") - centre("e"))).toBeLessThan(1);
  });
  it("cross as little as they can", () => {
    const { at } = arranged(["a", "b", "y", "x"], [["a", "x"], ["b", "y"]]);
    expect(at.get("a")!.x < at.get("b")!.x).toBe(at.get("x")!.x < at.get("y")!.x);
  });
  it("stand modules that feed each other, and inputs that are read late", () => {
    const { at } = arranged(["a", "b", "late"], [["a", "b"], ["b", "a"], ["late", "b"]]);
    expect(at.get("b")!.y).toBeGreaterThan(at.get("a")!.y);
    expect(arranged(["in", "p", "q", "r", "s"], [["p", "q"], ["q", "r"], ["r", "s"], ["in", "s"]]).at.get("in")!.y).toBeGreaterThan(0);
    expect(arrange([], []).width).toBe(0);
  });
});

describe("other parts", () => {
  it("scroll only as far as it takes to see the panes", () => {
    expect(distance_to(420, 1300, 900)).toBe(0);
    expect(distance_to(560, 1460, 700)).toBe(280);
    expect(distance_to(-900, 100, 900)).toBe(-380);
    expect(distance_to(-900, -800, 900)).toBe(-900);
  });
  it("keep their state in the fragment", () => {
    const state = { ...initial_state, result: 1, selected: "t:/a b&c", signal: "local_sqnr_db", sort: "worst" as const, zoom: [3, 9] as [number, number], tree: false, open: ["g:a", "g:b c"] };
    expect(read_state(`#${write_state(state)}`)).toEqual(state);
    expect(read_state("#zoom=9-3&sort=x").zoom).toBeNull();
  });
  it("find the Pareto front", () => {
    const points = [[1, 10], [2, 9], [3, 20], [3, 15], [4, 20]].map(([x, y]) => ({ label: "", x: x!, y: y! }));
    expect(pareto_front(points).map((point) => [point.x, point.y])).toEqual([[1, 10], [3, 20]]);
    expect(round_ticks([0.3, 9.7], 5)).toEqual([2, 4, 6, 8]);
  });
  it("lead a tuning curve through the best of each number of nodes", () => {
    const points = [[0, 29], [3, 28], [3, 37], [5, 41], [4, 35]].map(([x, y]) => ({ label: "", x: x!, y: y! }));
    expect(best_of_each(points, false).map((point) => [point.x, point.y])).toEqual([[0, 29], [3, 37], [4, 35], [5, 41]]);
    expect(best_of_each(points, true)[1]!.y).toBe(28);
  });
  it("have an axis of round differences under an interval", () => {
    expect(difference_ticks(38.5).map(([, text]) => text)).toEqual(["−20", "0", "+20"]);
    expect(difference_ticks(0.64).map(([, text]) => text)).toEqual(["−0.5", "0", "+0.5"]);
  });
  it("count which answers became which, the most frequent first", () => {
    const flips = flips_of({ flipped_samples: [[7, 1, 1, 2], [9, 2, 1, 2], [4, 0, 3, 0]].map(([sample, label, reference, candidate]) => ({ sample: sample!, label: label!, reference: reference!, candidate: candidate! })) });
    expect(count_flips(flips)).toEqual([
      { reference: 1, candidate: 2, count: 2, to_wrong: 1, to_right: 1 },
      { reference: 3, candidate: 0, count: 1, to_wrong: 0, to_right: 1 },
    ]);
  });
  it("compare metrics and classes of tasks, and findings that come and go", () => {
    const task = (candidate: number): ReportResult => ({ result: { command: "eval", metrics: [{ name: "top1_accuracy", candidate }], classes: [{ label: 3, name: "cat", candidate: 50 }], class_metric: "accuracy" } });
    const [before, after] = [task(90), task(88)].map((each) => comparable(each, make_rows(each)));
    expect(changes(before!.rows, after!.rows, after!.signals[0]!).map((each) => [each.name, each.change])).toEqual([["top1 accuracy", -2], ["cat", 0]]);
    const check = (names: string[]): ReportResult => ({ result: { command: "check", findings: names.map((name) => ({ id: "dead-node", severity: "warning", subject: { name } })) } });
    const [old, now] = [check(["a", "b"]), check(["b", "c"])].map((each) => comparable(each, make_rows(each)));
    expect(changes(old!.rows, now!.rows, now!.signals[0]!).map((each) => [each.name, each.before, each.after])).toEqual([["b", 1, 1], ["c", null, 1], ["a", 1, null]]);
  });
  it("say that weights stand by name, and all else in the order of execution", () => {
    const made = debug_result([["x", 50, "healthy"]]);
    made.result.weights = [{ weight_name: "a.weight", weight_sqnr_db: 30 }, { weight_name: "b.weight", weight_sqnr_db: 20 }];
    const { rows } = make_rows(made);
    expect(order_text(along_network(rows, signal_of("weight_sqnr_db")))).toBe("by name");
    expect(order_text(along_network(rows, signal_of("cumulative_sqnr_db")))).toBe("in the order of execution");
  });
  it("scale decibels and magnitudes", () => {
    const scale = make_scale([10, Infinity, 70], signal_of("sqnr_db"));
    expect([scale.at(0), scale.at(Infinity)]).toEqual([0, 1]);
    const log = make_scale([1e-6, 1e-2], signal_of("max_abs_diff"));
    expect(log.at(1e-4)).toBeCloseTo(0.5);
    expect(log.at(0)).toBe(0);
  });
  it("compare two results row by row, the most worsened first", () => {
    const before = make_rows(debug_result([["x", 30, "healthy"], ["y", 30, "healthy"], ["gone", 5, "healthy"]]));
    const after = make_rows(debug_result([["x", 35, "healthy"], ["y", 20, "healthy"], ["new", 7, "healthy"]]));
    const list = changes(before.rows, after.rows, signal_of("cumulative_sqnr_db"));
    expect(list.map((each) => [each.name, each.change])).toEqual([["y", -10], ["x", 5], ["new", null], ["gone", null]]);
  });
});

describe("the verdict of a saved result", () => {
  const said = (verdict: ReportResult["result"]) => verdict_text({ result: { command: "eval", verdict } });
  it("is said in the words that come with it", () => {
    const failures = [{ kind: "broken", subject: "y", text: "output y: sqnr_db_mean 9.74435 < 15" }];
    const doubts = [{ kind: "clipping", subject: "x", text: "x clips 20 %" }, { kind: "other_inputs", subject: "y", text: "y may be better" }];
    expect(said({ outcome: "fail", failures, doubts })).toBe("output y: sqnr_db_mean 9.74435 < 15");
    expect(said({ outcome: "inconclusive", failures, doubts })).toBe("output y: sqnr_db_mean 9.74435 < 15, but x clips 20 %; y may be better");
    expect(said({ outcome: "inconclusive", failures: [], doubts: [] })).toBe("nothing was measured");
    expect(said({ outcome: "fail", failures: Array.from({ length: 5 }, () => failures[0]!), doubts: [] })).toMatch(/; and 2 more$/);
  });
});

describe("a diagnosis", () => {
  it("says on how many samples an answer rests where they are not the run's", () => {
    const result = { run: { samples: 64 }, layers: { run: { samples: 2 } } };
    expect(samples_of(result)).toEqual({ place: 2 });
    const debug = { run: { samples: 64 }, sensitivity: { held_out_samples: 8 } };
    expect(samples_of({ run: { samples: 64 }, debug, remedies: [{ kind: "range" }] })).toEqual({ remedy: 8 });
    expect(samples_of({ run: { samples: 64 }, debug, remedies: [{ kind: "ranges" }] })).toEqual({});
  });
  it("shows the rows of the result that looked deepest", () => {
    const made = debug_result([["x", 50, "healthy"]]);
    const { rows } = make_rows({ result: { command: "diagnose", answers: [], eval: { command: "eval", outputs: [] }, debug: made.result } });
    expect(rows.map((row) => row.name)).toEqual(["x"]);
  });
});
