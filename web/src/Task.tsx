// eval --task: metrics with their intervals, which answers flipped, and the examples that did.
import { as_list, as_number, as_object, as_text, type JsonObject } from "./data";
import { fact_text } from "./Verdict";

const fixed = (value: number | null): string => (value === null ? "–" : value.toFixed(2));

export function Task({ result }: { result: JsonObject }) {
  const metrics = as_list(result.metrics);
  const flips = as_list(result.flips);
  const examples = as_list(result.flipped_examples);
  return (
    <section class="task" aria-label="Task">
      <h2>Task</h2>
      <div class="metrics">{metrics.map((metric) => <Metric key={as_text(metric.name)} metric={metric} allowed={as_number(result.allowed_difference) ?? 0} />)}</div>
      {flips.length > 0 && <Flips flips={flips} />}
      {examples.length > 0 && <Examples examples={examples} />}
    </section>
  );
}

// The difference and its interval beside what is allowed.
function Metric({ metric, allowed }: { metric: JsonObject; allowed: number }) {
  const delta = as_number(metric.delta);
  const interval = Array.isArray(metric.interval) ? metric.interval.map((end) => as_number(end)) : [];
  const [low, high] = [interval[0] ?? null, interval[1] ?? null];
  const reach = Math.max(allowed, Math.abs(low ?? 0), Math.abs(high ?? 0), 0.01) * 1.2;
  const x = (value: number) => 150 + (value / reach) * 145;
  return (
    <div class="metric">
      <h3>{as_text(metric.name).replaceAll("_", " ")}</h3>
      <p><b>{fixed(as_number(metric.candidate))}</b> candidate{metric.reference !== null && <> · <b>{fixed(as_number(metric.reference))}</b> reference</>}</p>
      {delta !== null && low !== null && high !== null && (
        <svg viewBox="0 0 300 44" role="img" aria-label={`difference ${fixed(delta)}, 95 % interval ${fixed(low)} to ${fixed(high)}, allowed ${allowed}`}>
          <rect class="allowed" x={x(-allowed)} width={x(allowed) - x(-allowed)} y="4" height="22" />
          <line class="axis" x1={x(0)} x2={x(0)} y1="2" y2="28" />
          <line class="interval" x1={x(low)} x2={x(high)} y1="15" y2="15" />
          <circle class={Math.abs(delta) <= allowed ? "inside" : "outside"} cx={x(delta)} cy="15" r="4.5" />
          <text x={x(delta)} y="41" text-anchor="middle">{delta > 0 ? "+" : ""}{fixed(delta)}</text>
          <text x={x(-allowed)} y="41" text-anchor="middle" class="faint">{-allowed}</text>
          <text x={x(allowed)} y="41" text-anchor="middle" class="faint">+{allowed}</text>
        </svg>
      )}
    </div>
  );
}

// Which class flips into which.
function Flips({ flips }: { flips: JsonObject[] }) {
  return (
    <figure class="table" tabIndex={0} aria-label="Answers that changed">
      <h3>Answers that changed</h3>
      <table>
        <thead><tr><th class="left" scope="col">label</th><th class="left" scope="col">reference said</th><th class="left" scope="col">candidate says</th><th scope="col">examples</th></tr></thead>
        <tbody>{flips.map((flip, i) => <tr key={i}><td class="left">{fact_text(flip.label ?? null)}</td><td class="left">{fact_text(flip.reference ?? null)}</td><td class="left">{fact_text(flip.candidate ?? null)}</td><td>{fact_text(flip.count ?? null)}</td></tr>)}</tbody>
      </table>
    </figure>
  );
}

function Examples({ examples }: { examples: JsonObject[] }) {
  return (
    <>
      <h3>Examples that flipped</h3>
      <ul class="thumbnails">
        {examples.map((example, i) => {
          const image = as_text(as_object(example).image);
          const says = `label ${fact_text(example.label ?? null)}: reference ${fact_text(example.reference ?? null)}, candidate ${fact_text(example.candidate ?? null)}`;
          return (
            <li key={i}>
              {image.startsWith("data:image/png;base64,") ? <img src={image} alt={`Example ${fact_text(example.sample ?? null)}, ${says}`} loading="lazy" /> : <span class="no-image">{fact_text(example.sample ?? null)}</span>}
              <span><b>{fact_text(example.candidate ?? null)}</b> for {fact_text(example.reference ?? null)}</span><small>label {fact_text(example.label ?? null)}, sample {fact_text(example.sample ?? null)}</small>
            </li>
          );
        })}
      </ul>
    </>
  );
}
