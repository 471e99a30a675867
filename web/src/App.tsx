import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Blocks } from "./Blocks";
import { comparable, Compare, is_comparable } from "./Compare";
import { as_object, as_text, type ReportData, type ReportResult } from "./data";
import { fold_graph } from "./graph";
import { GraphView } from "./GraphView";
import { Inspector } from "./Inspector";
import { Navigator } from "./Navigator";
import { Points } from "./Points";
import { Profile } from "./Profile";
import { RunMap } from "./RunMap";
import { first_selected, is_few, make_rows, signal_of, worst_row, type Row, type Rows } from "./rows";
import { read_state, write_state, type State } from "./state";
import { Task } from "./Task";
import { outcome_of, Verdict } from "./Verdict";
import { reveal } from "./visible";

const symbols: { [outcome: string]: string } = { pass: "✓", fail: "✗", inconclusive: "?" };
const title_of = (report: ReportResult): string => {
  const candidate = as_text(as_object(report.result.run).candidate) || as_text(report.result.model);
  return candidate ? `${as_text(report.result.command)} ${candidate}` : as_text(report.result.command);
};

export function App({ data }: { data: ReportData }) {
  const all_rows = useMemo(() => data.results.map(make_rows), [data]);
  const begin = (fragment: string): State => {
    const given = read_state(fragment);
    const rows = all_rows[Math.min(given.result, all_rows.length - 1)];
    return given.selected || !rows ? given : { ...given, selected: first_selected(rows) };
  };
  const [state, set_state] = useState<State>(() => begin(location.hash));
  const at = Math.min(state.result, data.results.length - 1);
  const report = data.results[at];
  const change = (part: Partial<State>) => set_state((old) => ({ ...old, ...part }));
  useEffect(() => {
    const fragment = write_state(state);
    if (fragment !== location.hash.slice(1)) history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname + location.search);
  }, [state]);
  useEffect(() => {
    const follow = () => set_state(begin(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => {
    if (report) document.title = `${outcome_of(report).toUpperCase()} ${title_of(report)} – Vernier`.trim();
  }, [report]);
  if (!report) return <main><p>This page holds no result.</p></main>;
  // Results behind a zoo are of different models: none is before another.
  const is_zoo = data.results[0]?.result.command === "zoo";
  const compared = data.results.map((each, i) => comparable(each, all_rows[i]!));
  const kind = (each: ReportResult) => `${as_text(each.result.command)} ${Array.isArray(each.result.metrics)}`;
  const other = is_zoo ? -1 : data.results.findIndex((each, i) => i !== at && kind(each) === kind(report) && is_comparable(compared[i]!) && is_comparable(compared[at]!));
  const [before, after] = [Math.min(at, other), Math.max(at, other)];
  // Where hardly a row is compared, the figures are in the terminal's tables: they come first.
  const few = is_few(all_rows[at]!.rows);
  const tables = report.document && <Tables report={report} open={few || all_rows[at]!.rows.length === 0} />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the result</a>
      <header class="top">
        <span class="brand"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="M3 4h18v4H3zM5 8v7m3.5-7v4M12 8v7m3.5-7v4M19 8v7M3 20h18" /></svg>Vernier</span>
        {data.results.length > 1 ? (
          <nav class="results" aria-label="Results">
            {data.results.map((each, i) => (
              <button key={i} aria-current={i === at ? "page" : undefined} onClick={() => set_state(begin(`result=${i}`))}><span class={`status ${outcome_of(each)}`} aria-hidden="true">{symbols[outcome_of(each)] ?? "·"}</span> {title_of(each)}</button>
            ))}
          </nav>
        ) : <h1>{title_of(report)}</h1>}
      </header>
      <main id="main" tabIndex={-1}>
        {data.results.length > 1 && <h1 class="hidden">{title_of(report)}</h1>}
        <Verdict report={report} />
        {Array.isArray(report.result.metrics) && <Task report={report} />}
        <Points result={report.result} />
        <RunMap result={report.result} />
        {few && tables}
        {all_rows[at]!.rows.length > 0 && <Workspace key={at} report={report} rows={all_rows[at]!} state={state} change={change} />}
        {other >= 0 && <Compare before={compared[before]!} after={compared[after]!} names={[title_of(data.results[before]!), title_of(data.results[after]!)]} />}
        {!few && tables}
      </main>
    </>
  );
}

function Workspace({ report, rows, state, change }: { report: ReportResult; rows: Rows; state: State; change: (part: Partial<State>) => void }) {
  const signal = rows.signals.find((each) => each.key === state.signal) ?? rows.signals[0] ?? signal_of("sqnr_db");
  const graph = useMemo(() => (report.graph && report.graph.nodes.length > 0 ? fold_graph(report.graph) : null), [report]);
  const largest = useMemo(() => Math.max(0, ...rows.rows.map((row) => row.values[signal.key] ?? 0).filter(Number.isFinite)), [rows, signal]);
  const panes = useRef<HTMLDivElement>(null);
  // What is chosen outside of the panes is shown in them.
  const choose = (part: Partial<State>) => {
    change(part);
    if (part.selected) reveal(panes.current);
  };
  useEffect(() => {
    const on_key = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) {
        if (event.key === "Escape") target.blur();
        return;
      }
      const index = rows.rows.findIndex((row) => row.id === state.selected);
      const to = (row: Row | undefined) => row && choose({ selected: row.id });
      if (event.key === "/") document.getElementById("filter")?.focus();
      else if (event.key === "j") to(rows.rows[Math.min(rows.rows.length - 1, index + 1)]);
      else if (event.key === "k") to(rows.rows[Math.max(0, index - 1)]);
      else if (event.key === "w") to(worst_row(rows.rows, signal));
      else if (event.key === "o" && rows.origin !== null) to(rows.rows[rows.origin]);
      else if (event.key === "Escape") change({ selected: "" });
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", on_key);
    return () => removeEventListener("keydown", on_key);
  }, [rows, signal, state.selected]);
  return (
    <div class={`workspace ${graph ? "" : "no-graph"}`}>
      {rows.signals.length > 0 && rows.rows.length > 1 && <Profile rows={rows} signal={signal} state={state} change={choose} />}
      <div class="panes" ref={panes}>
        <Navigator rows={rows} signal={signal} largest={largest} state={state} change={change} />
        {graph && <GraphView graph={graph} rows={rows} signal={signal} largest={largest} state={state} change={change} />}
        <Inspector report={report} rows={rows} graph={graph} selected={state.selected} signal={signal} select={(id) => change({ selected: id })} />
      </div>
    </div>
  );
}

// What the terminal shows, whole.
function Tables({ report, open }: { report: ReportResult; open: boolean }) {
  const blocks = (report.document?.blocks ?? []).filter((block, i) => (block.kind === "table" && block.rows.length > 0) || (block.kind === "panel" && i > 0));
  if (blocks.length === 0) return null;
  return (
    <details class="tables" open={open}>
      <summary><h2>As in the terminal</h2></summary>
      <Blocks blocks={blocks} />
    </details>
  );
}
