import { useEffect, useRef, useState } from "preact/hooks";
import { error_colour, value_colour } from "./colour";
import { as_list, as_number, as_object, as_text, decode_bytes, decode_f32, decode_u32, type GraphData, type Json, type ReportResult, type TensorDetail } from "./data";
import { decibels, figure, percent, words } from "./format";
import type { FoldedGraph, GNode } from "./graph";
import { status_symbol, value_text } from "./Navigator";
import { badness, type Row, type Rows, type Signal } from "./rows";
import { fact_text } from "./Verdict";

interface Props {
  report: ReportResult;
  rows: Rows;
  graph: FoldedGraph | null;
  selected: string;
  signal: Signal;
  select: (id: string) => void;
}

export function Inspector({ report, rows, graph, selected, signal, select }: Props) {
  const row = rows.rows.find((each) => each.id === selected);
  if (row) {
    const node = row.node === null ? undefined : graph?.by_index.get(row.node);
    return (
      <aside class="pane inspector" aria-label="Inspector" tabIndex={0}>
        <RowHead row={row} />
        {row.kind === "finding" ? <Finding row={row} /> : <Figures row={row} rows={rows} />}
        <Detail detail={report.detail?.tensors?.[row.id]} sample={report.detail?.sample ?? 0} row={row} recorded={report.detail !== undefined} />
        {report.graph && node && <NodeFacts data={report.graph} node={node} rows={rows} graph={graph!} row={row} select={select} />}
      </aside>
    );
  }
  const node = graph?.nodes.find((each) => each.id === selected);
  if (node && report.graph) {
    return (
      <aside class="pane inspector" aria-label="Inspector" tabIndex={0}>
        <header><h2>{node.label}</h2><p class="sub">{node.op} · not measured</p></header>
        <NodeFacts data={report.graph} node={node} rows={rows} graph={graph!} row={null} select={select} />
      </aside>
    );
  }
  const below = selected.startsWith("g:") ? rows_below(rows.rows, selected.slice(2), graph) : [];
  if (below.length > 0) return <GroupFacts id={selected} below={below} signal={signal} select={select} />;
  return (
    <aside class="pane inspector" aria-label="Inspector" tabIndex={0}>
      <header><h2>Inspector</h2></header>
      <p class="empty">Select a row, a point of the profile or a node to see what is known of it.</p>
      <p class="empty keys"><kbd>/</kbd> filter · <kbd>j</kbd> <kbd>k</kbd> next and previous row · <kbd>w</kbd> the worst · <kbd>o</kbd> drift origin · <kbd>Esc</kbd> nothing</p>
    </aside>
  );
}

function rows_below(rows: Row[], path: string, graph: FoldedGraph | null): Row[] {
  const inside = (row: Row): boolean => {
    const own = row.path.join(".");
    if (own === path || own.startsWith(path + ".")) return true;
    const node = row.node === null ? undefined : graph?.by_index.get(row.node);
    for (let at = node?.group ?? null; at; at = at.parent) if (at.id === `g:${path}`) return true;
    return false;
  };
  return rows.filter(inside);
}

function GroupFacts({ id, below, signal, select }: { id: string; below: Row[]; signal: Signal; select: (id: string) => void }) {
  const sorted = [...below].sort((a, b) => badness(b.values[signal.key], signal) - badness(a.values[signal.key], signal) || 0);
  return (
    <aside class="pane inspector" aria-label="Inspector" tabIndex={0}>
      <header><h2>{id.slice(2)}</h2><p class="sub">module · {below.length} rows</p></header>
      <h3>Worst below it, by {signal.label}</h3>
      <ol class="links">
        {sorted.slice(0, 12).map((row) => (
          <li key={row.id}><button class="link" onClick={() => select(row.id)}><span class={`status ${row.status}`}>{status_symbol[row.status]}</span> {row.name}</button> <span class="num">{value_text(row.values[signal.key], signal)}</span></li>
        ))}
      </ol>
    </aside>
  );
}

const RowHead = ({ row }: { row: Row }) => (
  <header>
    <h2>{row.name}</h2>
    <p class="sub"><span class={`chip ${row.status}`}><span aria-hidden="true">{status_symbol[row.status]}</span> {words(row.verdict)}</span> {row.op && row.op !== row.kind && <span>{row.op}</span>} <span>{row.kind}</span></p>
  </header>
);

const Finding = ({ row }: { row: Row }) => (
  <>
    <p class="evidence">{as_text(row.raw.evidence)}</p>
    <h3>Remedy</h3>
    <p>{as_text(row.raw.remedy)}</p>
  </>
);

function Facts({ facts }: { facts: [string, string][] }) {
  const shown = facts.filter(([, text]) => text !== "" && text !== "–");
  return shown.length === 0 ? null : <dl class="facts rows">{shown.map(([name, text]) => <div key={name}><dt>{name}</dt><dd>{text}</dd></div>)}</dl>;
}

const shown_elsewhere = new Set(["tensor_name", "weight_name", "output_name", "layer", "name", "verdict", "noise", "metrics", "worst_channels", "op", "type", "cause", "detail", "failures", "pass", "truth", "nan", "inf", "nonfinite_elements", "worst_sample", "nonfinite_samples"]);

const name_of_kind = new Set(["granularity", "status", "matched_by", "aligned_by"]); // values that are one of a few names

function Figures({ row, rows }: { row: Row; rows: Rows }) {
  const noise = as_object(row.raw.noise);
  const best = as_object(noise.best_range);
  const metrics = Object.entries(as_object(row.raw.metrics)).filter(([name]) => !/_(std)$/.test(name));
  const counts = (name: string): [string, string][] => {
    const both = as_object(row.raw[name]);
    const texts = Object.entries(both).filter(([, count]) => count !== 0).map(([side, count]) => `${fact_text(count)} ${side.replaceAll("_", " ")}`);
    return texts.length ? [[name, texts.join(", ")]] : [];
  };
  const others = Object.entries(row.raw)
    .filter(([name, value]) => !shown_elsewhere.has(name) && !(name in row.values) && value !== null && value !== false && value !== "" && typeof value !== "object" || (name.endsWith("shape") && value !== null))
    .map(([name, value]): [string, string] => [words(name), Array.isArray(value) ? `[${value.join(",")}]` : name_of_kind.has(name) ? words(fact_text(value as Json)) : fact_text(value as Json)]);
  const truth = as_object(row.raw.truth);
  return (
    <>
      <table class="signals">
        <tbody>
          {rows.signals.filter((signal) => row.values[signal.key] !== undefined).map((signal) => (
            <tr key={signal.key}><th scope="row">{signal.label}</th><td>{value_text(row.values[signal.key], signal)}{signal.decibels && Number.isFinite(row.values[signal.key]) ? <small> dB</small> : null}</td></tr>
          ))}
        </tbody>
      </table>
      {row.raw.cause && as_text(row.raw.cause) !== "none" ? <p class="cause"><b>{words(as_text(row.raw.cause))}</b> {as_text(row.raw.detail)}</p> : null}
      {metrics.length > 0 && row.kind !== "layer" && (
        <details><summary>all {metrics.length} figures</summary><Facts facts={metrics.map(([name, value]) => [words(name), figure(as_number(value))])} /></details>
      )}
      {row.raw.noise ? (
        <>
          <h3>Quantizer</h3>
          <Facts facts={[
            ["clipped", percent(as_number(noise.clipped_share) ?? 0)],
            ["of its noise", `${percent(as_number(noise.rounding_share) ?? 0)} rounding, ${percent(1 - (as_number(noise.rounding_share) ?? 0))} clipping`],
            ["range in use", range_text(noise.representable)],
            ["observed", range_text(noise.observed)],
            ["better range", (as_number(best.gain_db) ?? 0) >= 0.5 ? `[${figure(as_number(best.low))}, ${figure(as_number(best.high))}]: +${(as_number(best.gain_db) ?? 0).toFixed(1)} dB expected` : ""],
          ]} />
        </>
      ) : null}
      {Array.isArray(row.raw.worst_channels) && row.raw.worst_channels.length > 0 && (
        <><h3>Worst channels</h3><Facts facts={as_list(row.raw.worst_channels).map((channel) => [`channel ${fact_text(channel.channel ?? null)}`, `${decibels(as_number(channel.sqnr_db))} dB`])} /></>
      )}
      <h3>Pair</h3>
      <Facts facts={[...others, ...counts("nan"), ...counts("inf"), ...counts("nonfinite_elements"), ...Object.entries(truth).map(([name, value]): [string, string] => [`truth: ${words(name)}`, figure(as_number(value))])]} />
    </>
  );
}

const range_text = (range: Json | undefined): string => (Array.isArray(range) ? `[${range.map((end) => figure(as_number(end))).join(", ")}]` : "–");

function NodeFacts({ data, node, rows, graph, row, select }: { data: GraphData; node: GNode; rows: Rows; graph: FoldedGraph; row: Row | null; select: (id: string) => void }) {
  const raw = data.nodes[node.index];
  if (!raw) return null;
  const row_of = (tensor: number): Row | undefined => rows.rows.find((each) => each.id !== row?.id && each.tensor === data.tensors[tensor]);
  const Tensor = ({ tensor, side }: { tensor: number; side: string }) => {
    const target = row_of(tensor);
    const name = data.tensors[tensor]!;
    return <li><span class="side">{side}</span> {target ? <button class="link" onClick={() => select(target.id)}>{name}</button> : <span>{name}</span>} <span class="type">{data.types[tensor] ?? ""}</span></li>;
  };
  const others = rows.rows.filter((each) => each.id !== row?.id && each.node !== null && graph.by_index.get(each.node) === node);
  const source = raw.source;
  return (
    <>
      <h3>Node</h3>
      <Facts facts={[["name", raw.name], ["operator", raw.domain ? `${raw.domain}.${raw.op}` : raw.op], ["module", raw.module ?? ""], ...Object.entries(raw.attributes ?? {})]} />
      <ul class="tensors">
        {raw.in.filter((tensor) => tensor >= 0).map((tensor, i) => <Tensor key={`i${i}`} tensor={tensor} side="in" />)}
        {raw.out.filter((tensor) => tensor >= 0).map((tensor, i) => <Tensor key={`o${i}`} tensor={tensor} side="out" />)}
      </ul>
      {others.length > 0 && (
        <><h3>Also of this node</h3><ol class="links">{others.map((each) => <li key={each.id}><button class="link" onClick={() => select(each.id)}><span class={`status ${each.status}`}>{status_symbol[each.status]}</span> {each.message ?? `${each.kind} ${each.name}`}</button></li>)}</ol></>
      )}
      {source && <Source file={source[0]} line={source[1]} text={source[2]} lines={data.sources[source[0]]} />}
    </>
  );
}

function Source({ file, line, text, lines }: { file: string; line: number; text: string; lines: { [line: string]: string } | undefined }) {
  const numbers = Object.keys(lines ?? {}).map(Number).filter((number) => Math.abs(number - line) <= 6).sort((a, b) => a - b);
  return (
    <>
      <h3>Source</h3>
      <p class="sub">{file}:{line}</p>
      <pre class="source" tabIndex={0} aria-label={`Python around line ${line}`}>
        {numbers.includes(line)
          ? numbers.map((number) => <span key={number} class={number === line ? "here" : ""}><i>{number}</i>{lines![number]}{"\n"}</span>)
          : <span class="here"><i>{line}</i>{text}</span>}
      </pre>
    </>
  );
}

function Detail({ detail, sample, row, recorded }: { detail: TensorDetail | undefined; sample: number; row: Row; recorded: boolean }) {
  if (!detail) {
    const could = recorded && (row.kind === "tensor" || row.kind === "layer" || row.kind === "output") && Object.keys(row.values).length > 0;
    return could ? <p class="empty">Its tensors were not recorded: --detail all does that for every row.</p> : null;
  }
  const noise = as_object(row.raw.noise);
  const representable = Array.isArray(noise.representable) ? (noise.representable.map((end) => as_number(end) ?? 0) as [number, number]) : null;
  return (
    <>
      <h3>Values <small>of sample {sample}, {detail.shape.length ? `[${detail.shape.join(",")}]` : "a scalar"}</small></h3>
      <Histogram detail={detail} range={representable} />
      <Facts facts={[
        ["worst element", `[${detail.worst.index.join(",")}]: ${figure(detail.worst.candidate)} for ${figure(detail.worst.reference)}`],
        ["mean abs error", figure(detail.mean_abs_error)],
      ]} />
      <Channels detail={detail} />
      <Slices detail={detail} />
    </>
  );
}

const chart_width = 320;

// Values of both sides, and the error, on one axis; the quantizer's range as the stretch between brackets.
function Histogram({ detail, range }: { detail: TensorDetail; range: [number, number] | null }) {
  const [low, high] = detail.range;
  const sides = { reference: decode_u32(detail.reference), candidate: decode_u32(detail.candidate), error: decode_u32(detail.error) };
  const bins = sides.reference.length;
  const most = Math.max(1, ...sides.reference, ...sides.candidate, ...sides.error);
  const tall = 110;
  // Counts by their logarithm: the tails are what quantization is about.
  const height_of = (count: number) => (count === 0 ? 0 : (Math.log1p(count) / Math.log1p(most)) * (tall - 8));
  const x = (value: number) => ((value - low) / (high - low || 1)) * chart_width;
  const outline = (counts: Uint32Array) => {
    const step = chart_width / bins;
    let d = `M0 ${tall}`;
    counts.forEach((count, i) => (d += `L${(i * step).toFixed(1)} ${(tall - height_of(count)).toFixed(1)}L${((i + 1) * step).toFixed(1)} ${(tall - height_of(count)).toFixed(1)}`));
    return `${d}L${chart_width} ${tall}`;
  };
  const inside = (value: number) => Math.min(chart_width - 1, Math.max(1, x(value)));
  return (
    <figure class="histogram">
      <svg viewBox={`0 0 ${chart_width} ${tall + 16}`} role="img" aria-label={`Histograms from ${figure(low)} to ${figure(high)}${range ? `; the quantizer represents ${figure(range[0])} to ${figure(range[1])}` : ""}`}>
        {range && <rect class="range" x={inside(range[0])} width={Math.max(1, inside(range[1]) - inside(range[0]))} y="0" height={tall} />}
        {range && [range[0], range[1]].map((end, i) => <path key={i} class="bracket" d={`M${inside(end) + (i ? -5 : 5)} 1H${inside(end)}V${tall}`} />)}
        <path class="h-reference" d={outline(sides.reference)} />
        <path class="h-candidate" d={outline(sides.candidate)} />
        <path class="h-error" d={outline(sides.error)} />
        <line class="axis" x1="0" x2={chart_width} y1={tall} y2={tall} />
        <text x="0" y={tall + 13}>{figure(low)}</text>
        {low < 0 && high > 0 && x(0) > 50 && x(0) < chart_width - 50 && <text x={x(0)} y={tall + 13} text-anchor="middle">0</text>}
        <text x={chart_width} y={tall + 13} text-anchor="end">{figure(high)}</text>
      </svg>
      <figcaption><span class="key reference" /> reference <span class="key candidate" /> candidate <span class="key error" /> error {range && <><span class="key range" /> quantizer's range</>}<br /><small>heights are logarithms of counts</small></figcaption>
    </figure>
  );
}

function Channels({ detail }: { detail: TensorDetail }) {
  const errors = decode_f32(detail.channels), signal = decode_f32(detail.channel_signal);
  if (errors.length < 2) return null;
  const most = Math.max(...errors) || 1;
  const tall = 60, step = chart_width / errors.length;
  const order = [...errors.keys()].sort((a, b) => errors[b]! - errors[a]!);
  const text = (channel: number) => `channel ${channel}: rms error ${figure(errors[channel]!)}, signal ${figure(signal[channel]!)}`;
  return (
    <figure class="channels">
      <h3>Error by channel <small>axis {detail.channel_axis}, {errors.length} channels</small></h3>
      <svg viewBox={`0 0 ${chart_width} ${tall}`} role="img" aria-label={`Root mean square error by channel; the worst is ${text(order[0]!)}`}>
        {[...errors].map((error, i) => <rect key={i} class={i === order[0] ? "most" : ""} x={i * step} width={Math.max(0.6, step - (step > 3 ? 1 : 0))} y={tall - (error / most) * (tall - 2)} height={(error / most) * (tall - 2)}><title>{text(i)}</title></rect>)}
      </svg>
      <figcaption>worst: {order.slice(0, 3).map((channel) => `${channel} (${figure(errors[channel]!)})`).join(", ")}</figcaption>
    </figure>
  );
}

function Slices({ detail }: { detail: TensorDetail }) {
  const [at, set_at] = useState(0);
  useEffect(() => set_at(0), [detail]);
  const slice = detail.slices[Math.min(at, detail.slices.length - 1)];
  if (!slice) return null;
  const reference = decode_bytes(slice.reference), difference = decode_bytes(slice.difference);
  const span = slice.high - slice.low || 1;
  const error_of = (i: number) => ((difference[i]! - 128) / 127) * slice.error;
  const value_of = (i: number) => slice.low + (reference[i]! / 255) * span;
  return (
    <figure class="slices">
      <h3>Slices
        {detail.slices.length > 1 ? (
          <select aria-label="Slice" value={at} onChange={(event) => set_at(Number(event.currentTarget.value))}>{detail.slices.map((each, i) => <option key={i} value={i}>{each.label}</option>)}</select>
        ) : <small> {slice.label}</small>}
      </h3>
      <div class="pictures">
        <Picture title="reference" slice={slice} colour={(i) => value_colour((value_of(i) - slice.low) / span)} />
        <Picture title="candidate" slice={slice} colour={(i) => value_colour((value_of(i) + error_of(i) - slice.low) / span)} />
        <Picture title="error" slice={slice} colour={(i) => error_colour(error_of(i) / (slice.error || 1))} />
      </div>
      <figcaption>values {figure(slice.low)} to {figure(slice.high)}, errors to ±{figure(slice.error)}</figcaption>
    </figure>
  );
}

function Picture({ title, slice, colour }: { title: string; slice: { rows: number; columns: number }; colour: (element: number) => [number, number, number] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const image = context.createImageData(slice.columns, slice.rows);
    for (let i = 0; i < slice.rows * slice.columns; ++i) {
      const [red, green, blue] = colour(i);
      image.data.set([red, green, blue, 255], 4 * i);
    }
    context.putImageData(image, 0, 0);
  });
  return <figure><canvas ref={canvas} width={slice.columns} height={slice.rows} role="img" aria-label={`${title}, ${slice.rows} by ${slice.columns}`} style={{ aspectRatio: `${slice.columns} / ${slice.rows}` }} /><figcaption>{title}</figcaption></figure>;
}
