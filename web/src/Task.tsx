// eval --task: metrics with their intervals, which answers flipped into which, and the examples that did.
import { useState } from "preact/hooks";
import { as_list, as_number, as_object, as_text, type JsonObject, type ReportResult } from "./data";
import { round_ticks } from "./Points";

const fixed = (value: number | null): string => (value === null ? "–" : value.toFixed(2));

export interface Flip {
  sample: number;
  label: number;
  reference: number;
  candidate: number;
}

export interface FlipCount {
  reference: number;
  candidate: number;
  count: number;
  to_wrong: number; // the reference was right
  to_right: number;
}

export const flips_of = (result: JsonObject): Flip[] =>
  as_list(result.flipped_samples).map((each) => ({
    sample: as_number(each.sample) ?? -1, label: as_number(each.label) ?? -1,
    reference: as_number(each.reference) ?? -1, candidate: as_number(each.candidate) ?? -1,
  }));

// Which answer became which, the most frequent first.
export function count_flips(flips: Flip[]): FlipCount[] {
  const counts = new Map<string, FlipCount>();
  for (const { reference, candidate, label } of flips) {
    const key = `${reference} ${candidate}`;
    const entry = counts.get(key) ?? { reference, candidate, count: 0, to_wrong: 0, to_right: 0 };
    ++entry.count;
    if (reference === label) ++entry.to_wrong;
    if (candidate === label) ++entry.to_right;
    counts.set(key, entry);
  }
  return [...counts.values()].sort((a, b) => b.count - a.count || a.reference - b.reference || a.candidate - b.candidate);
}

export function Task({ report }: { report: ReportResult }) {
  const { result } = report;
  const flips = flips_of(result);
  const names = as_object(result.flipped_names);
  const name = (label: number): string => (label < 0 ? "no answer" : as_text(names[label]) || String(label));
  return (
    <section class="task" aria-label="Task">
      <h2>Task</h2>
      <div class="metrics">{as_list(result.metrics).map((metric) => <Metric key={as_text(metric.name)} metric={metric} allowed={as_number(result.allowed_difference) ?? 0} />)}</div>
      {flips.length > 0 && (
        <div class="flips">
          <Confusion counts={count_flips(flips)} total={flips.length} name={name} />
          <Examples flips={flips} thumbnails={report.detail?.thumbnails ?? {}} name={name} />
        </div>
      )}
    </section>
  );
}

// Round differences around none, with their signs; not at the ends, where their texts would be cut.
export const difference_ticks = (reach: number): [number, string][] =>
  round_ticks([-0.88 * reach, 0.88 * reach], 5).map((value) => [value, value > 0 ? `+${value}` : value < 0 ? `−${-value}` : "0"]);

// The difference and its interval beside what is allowed.
function Metric({ metric, allowed }: { metric: JsonObject; allowed: number }) {
  const delta = as_number(metric.delta);
  const interval = Array.isArray(metric.interval) ? metric.interval.map((end) => as_number(end)) : [];
  const [low, high] = [interval[0] ?? null, interval[1] ?? null];
  const reach = Math.max(allowed, Math.abs(low ?? 0), Math.abs(high ?? 0), 0.01) * 1.25;
  const x = (value: number) => 150 + (value / reach) * 145;
  const beside = delta !== null && low !== null && high !== null;
  return (
    <div class="metric">
      <h3>{as_text(metric.name).replaceAll("_", " ")}</h3>
      <p class="scores"><b>{fixed(as_number(metric.candidate) ?? as_number(metric.reference))}</b> <small>%</small>{beside && <span> reference {fixed(as_number(metric.reference))} · <span class={delta < -allowed ? "tone-bad" : "tone-good"}>{delta > 0 ? "+" : ""}{fixed(delta)}</span></span>}</p>
      {beside ? (
        <>
          <svg viewBox="0 0 300 44" role="img" aria-label={`difference ${fixed(delta)} points, 95 % interval ${fixed(low)} to ${fixed(high)}, allowed ${allowed}`}>
            <rect class="allowed" x={x(-allowed)} width={x(allowed) - x(-allowed)} y="4" height="22" />
            <line class="axis" x1={x(0)} x2={x(0)} y1="2" y2="26" />
            <line class="axis" x1="5" x2="295" y1="26" y2="26" />
            <line class="interval" x1={x(low)} x2={x(high)} y1="15" y2="15" />
            {[low, high].map((end, i) => <line key={i} class="interval end" x1={x(end)} x2={x(end)} y1="10" y2="20" />)}
            <circle class={delta >= -allowed ? "inside" : "outside"} cx={x(delta)} cy="15" r="4.5" />
            {difference_ticks(reach).map(([value, text]) => <g key={text}><line class="axis" x1={x(value)} x2={x(value)} y1="26" y2="30" /><text x={x(value)} y="41" text-anchor="middle">{text}</text></g>)}
          </svg>
          <p class="sub">points, with the 95 % interval; shaded: ±{allowed} allowed</p>
        </>
      ) : low !== null && high !== null && <p class="sub">95 % interval {fixed(low)} to {fixed(high)}</p>}
    </div>
  );
}

const most_in_matrix = 12; // classes
const most_pairs = 20;

function Confusion({ counts, total, name }: { counts: FlipCount[]; total: number; name: (label: number) => string }) {
  const classes = [...new Set(counts.flatMap((each) => [each.reference, each.candidate]))].sort((a, b) => a - b);
  const wrong = counts.reduce((sum, each) => sum + each.to_wrong, 0), right = counts.reduce((sum, each) => sum + each.to_right, 0);
  return (
    <figure class="table confusion" tabIndex={0} aria-label="Answers that changed">
      <h3>Answers that changed</h3>
      <p class="sub">{total === 1 ? "1 flipped" : `${total} flipped`}: {wrong} from right to wrong, {right} from wrong to right{total > wrong + right ? `, ${total - wrong - right} from wrong to wrong` : ""}</p>
      {classes.length <= most_in_matrix ? <Matrix counts={counts} classes={classes} name={name} /> : <Pairs counts={counts} name={name} />}
    </figure>
  );
}

// Rows are what the reference said, columns what the candidate says.
function Matrix({ counts, classes, name }: { counts: FlipCount[]; classes: number[]; name: (label: number) => string }) {
  const most = counts[0]?.count ?? 1;
  const of = (reference: number, candidate: number) => counts.find((each) => each.reference === reference && each.candidate === candidate);
  return (
    <table class="matrix">
      <thead><tr><th scope="col" class="left"><small>reference ↓ candidate →</small></th>{classes.map((label) => <th key={label} scope="col">{name(label)}</th>)}</tr></thead>
      <tbody>
        {classes.map((reference) => (
          <tr key={reference}>
            <th scope="row" class="left">{name(reference)}</th>
            {classes.map((candidate) => {
              const flip = of(reference, candidate);
              const shade = flip ? `color-mix(in srgb, var(--h-error) ${Math.round(12 + (flip.count / most) * 38)}%, transparent)` : "";
              return <td key={candidate} class={reference === candidate ? "same" : ""} style={flip ? { background: shade } : {}} title={flip ? `${name(reference)} → ${name(candidate)}: ${flip.count}, ${flip.to_wrong} to wrong, ${flip.to_right} to right` : ""}>{flip?.count ?? ""}</td>;
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Pairs({ counts, name }: { counts: FlipCount[]; name: (label: number) => string }) {
  const shown = counts.slice(0, most_pairs);
  return (
    <>
      <table>
        <thead><tr><th class="left" scope="col">reference said</th><th class="left" scope="col">candidate says</th><th scope="col">examples</th><th scope="col">to wrong</th><th scope="col">to right</th></tr></thead>
        <tbody>{shown.map((each) => <tr key={`${each.reference} ${each.candidate}`}><td class="left">{name(each.reference)}</td><td class="left">{name(each.candidate)}</td><td>{each.count}</td><td>{each.to_wrong}</td><td>{each.to_right}</td></tr>)}</tbody>
      </table>
      {counts.length > shown.length && <figcaption>the {shown.length} most frequent of {counts.length} changes</figcaption>}
    </>
  );
}

const shown_at_first = 24;

function Examples({ flips, thumbnails, name }: { flips: Flip[]; thumbnails: { [sample: string]: string }; name: (label: number) => string }) {
  const [all, set_all] = useState(false);
  const rank = (flip: Flip) => (thumbnails[flip.sample] ? 0 : 2) + (flip.reference === flip.label ? 0 : 1);
  const ordered = [...flips].sort((a, b) => rank(a) - rank(b) || a.sample - b.sample);
  const shown = all ? ordered : ordered.slice(0, shown_at_first);
  return (
    <div class="examples">
      <h3>Examples that flipped</h3>
      <ul class="thumbnails">
        {shown.map((flip) => {
          const image = thumbnails[flip.sample] ?? "";
          const [before, after] = [flip.reference === flip.label, flip.candidate === flip.label];
          return (
            <li key={flip.sample}>
              {image.startsWith("data:image/png;base64,") ? <img src={image} alt={`Sample ${flip.sample}`} width="104" height="104" /> : <span class="no-image">sample {flip.sample}</span>}
              <span class="answer"><i>reference</i> <b>{name(flip.reference)}</b> <span class={`status ${before ? "good" : "bad"}`} role="img" aria-label={before ? "right" : "wrong"}>{before ? "✓" : "✗"}</span></span>
              <span class="answer"><i>candidate</i> <b>{name(flip.candidate)}</b> <span class={`status ${after ? "good" : "bad"}`} role="img" aria-label={after ? "right" : "wrong"}>{after ? "✓" : "✗"}</span></span>
              <small>label {name(flip.label)} · sample {flip.sample}</small>
            </li>
          );
        })}
      </ul>
      {shown.length < flips.length && <button onClick={() => set_all(true)}>all {flips.length} examples</button>}
    </div>
  );
}
