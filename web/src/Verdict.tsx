import { Blocks } from "./Blocks";
import { Copy } from "./Copy";
import { as_list, as_number, as_object, as_text, text_of, type Block, type Json, type JsonObject, type ReportResult } from "./data";
import { count_text, words } from "./format";
import { doubt_texts, saved_verdict } from "./verdict_text";

// A pass without limits says only that all was comparable, and is not called one.
export function outcome_of(report: ReportResult): string {
  const verdict = as_object(report.result.verdict);
  const outcome = as_text(verdict.outcome);
  return outcome === "pass" && !(Array.isArray(verdict.limits) && verdict.limits.length > 0) ? "" : outcome;
}
const judging = new Set(["diff", "score", "eval"]); // their results lack a verdict if no limits were given
const symbols: { [outcome: string]: string } = { pass: "✓", fail: "✗", inconclusive: "?" };

const paragraphs = (report: ReportResult): string[] =>
  (report.document?.blocks ?? []).flatMap((block) => (block.kind === "paragraph" ? [text_of(block.text)] : []));

// The last line of the terminal; of a saved result the same, made here.
export function verdict_text(report: ReportResult): string {
  const last = paragraphs(report).at(-1);
  if (last && report.result.verdict) return last.replace(/^(PASS|FAIL|INCONCLUSIVE):? ?/, "");
  return saved_verdict(as_object(report.result.verdict));
}

export function fact_text(value: Json): string {
  if (Array.isArray(value)) return value.map(fact_text).join(", ");
  if (typeof value === "number") return String(Number(value.toPrecision(6)));
  if (typeof value === "boolean") return value ? "yes" : "no";
  return value === null ? "–" : typeof value === "object" ? JSON.stringify(value) : value;
}

// Sentences and things to paste, without the run's facts, tables, warnings and the verdict itself.
function conclusion(report: ReportResult): Block[] {
  const blocks = report.document?.blocks ?? [];
  const verdict = blocks.length - 1;
  return blocks.filter(
    (block, index) =>
      (block.kind === "code" || block.kind === "paragraph") &&
      !(report.result.verdict && index === verdict) &&
      !(block.kind === "paragraph" && text_of(block.text).startsWith("warning: ")),
  );
}

// The first error of check in words: its verdict only counts them.
export function first_error(result: ReportResult["result"]): Block[] {
  const found = as_list(result.findings).find((each) => each.severity === "error");
  if (!found) return [];
  const more = as_list(found.more).length;
  const where = as_text(as_object(found.subject).name);
  return [
    { kind: "paragraph", text: [`${as_text(found.id)}: ${where && `${where}: `}${as_text(found.evidence)}${more ? ` (and ${more} more)` : ""}`, "bad"] },
    { kind: "paragraph", text: as_text(found.remedy) },
  ];
}

// The same of a saved result, which has no document: what its JSON says in words.
function saved_conclusion(result: ReportResult["result"]): Block[] {
  const text = (words: string): Block[] => (words ? [{ kind: "paragraph", text: words }] : []);
  const cause = as_text(as_object(result.cause).text);
  const command = as_text(as_list(result.remedies)[0]?.command);
  const origin = as_text(result.drift_origin);
  const row = as_list(result.layers).find((each) => each.layer === origin);
  return [
    ...text(as_text(result.conclusion)),
    ...text(cause && `cause: ${cause}`),
    ...text(origin && `drift origin: ${origin}${row ? `, ${words(as_text(row.cause))}${row.detail ? `: ${as_text(row.detail)}` : ""}` : ""}`),
    ...(command ? [{ kind: "code", text: command } as Block] : []),
  ];
}

const answer_symbols: { [answer: string]: [string, string] } = { good: ["✓", "good"], bad: ["✗", "bad"], unknown: ["?", "fair"], not_asked: ["·", "none"] };

const judged_apart = new Set(["range", "per_channel", "keep_in_float"]); // remedies that debug measures on held-out samples

// On how many samples an answer rests, where those are others than the run's.
export function samples_of(result: JsonObject): { [question: string]: number } {
  const found: { [question: string]: number } = {};
  const own = as_number(as_object(as_object(result.debug ?? result.layers).run).samples);
  if (own !== null && own !== as_number(as_object(result.run).samples)) found.place = own;
  const held_out = as_number(as_object(as_object(result.debug).sensitivity).held_out_samples);
  if (held_out && judged_apart.has(as_text(as_list(result.remedies)[0]?.kind))) found.remedy = held_out;
  return found;
}

// What a diagnosis asked, in order, with its answers.
function Answers({ result }: { result: ReportResult["result"] }) {
  const answers = as_list(result.answers);
  if (answers.length === 0) return null;
  const samples = samples_of(result);
  return (
    <ol class="answers" aria-label="Questions and answers">
      {answers.map((each) => {
        const [symbol, tone] = answer_symbols[as_text(each.answer)] ?? ["·", "none"];
        return (
          <li key={as_text(each.question)} class={tone}>
            <span class={`status ${tone}`} role="img" aria-label={words(as_text(each.answer))}>{symbol}</span>
            <b>{as_text(each.question)}</b> <span>{as_text(each.text)}{each.answer !== "not_asked" && samples[as_text(each.question)] && <small class="tone-faint"> on {count_text(samples[as_text(each.question)]!, "sample")}</small>}</span>
          </li>
        );
      })}
    </ol>
  );
}

export function Verdict({ report }: { report: ReportResult }) {
  const { result } = report;
  const outcome = outcome_of(report);
  const judged = outcome !== "";
  const facts = Object.entries(as_object(result.run)).filter(([, value]) => fact_text(value) !== "");
  const limits = as_object(result.verdict).limits;
  // Doubts that do not decide are warnings, which a result that an older version saved lacks.
  const undecided = report.document || outcome === "inconclusive" ? [] : doubt_texts(as_object(result.verdict));
  const told_of = (Array.isArray(result.warnings) ? result.warnings : []).map((warning) => fact_text(warning));
  const warnings = [...told_of, ...undecided.filter((doubt) => !told_of.includes(doubt))];
  const versions = Object.entries(as_object(result.versions)).filter(([name]) => !name.endsWith("_library"));
  const told = [...first_error(result), ...(report.document ? conclusion(report) : saved_conclusion(result))];
  return (
    <section class="verdict" aria-label="Verdict">
      {(result.verdict || judging.has(as_text(result.command))) && <div class={`outcome ${judged ? outcome : "none"}`}>
        <span class="badge" role="img" aria-label={judged ? outcome.toUpperCase() : "not judged"}>
          <span aria-hidden="true">{judged ? symbols[outcome] : "·"}</span> {judged ? outcome.toUpperCase() : "NOT JUDGED"}
        </span>
        <p class="reason">{verdict_text(report) || (outcome === "pass" ? "Every limit was kept." : "no limits were given: nothing was judged")}</p>
      </div>}
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}><dt>{words(name)}</dt><dd>{fact_text(value)}</dd></div>
        ))}
        {Array.isArray(limits) && limits.length > 0 && <div><dt>fails if</dt><dd>{fact_text(limits)}</dd></div>}
      </dl>
      {(told.length > 0 || Array.isArray(result.answers)) && (
        <div class="story">
          <Answers result={result} />
          {told.length > 0 && <div class="told" role="region" aria-label="Conclusion" tabIndex={0}><Blocks blocks={told} /></div>}
        </div>
      )}
      {warnings.length > 0 && (
        <details class="warnings" open={warnings.length <= 2}>
          <summary>{warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`}</summary>
          <ul>{warnings.map((warning, i) => <li key={i}>{warning}</li>)}</ul>
        </details>
      )}
      <footer>
        {report.command_line && (
          <span class="reproduce"><code title={report.command_line}>{report.command_line}</code><Copy text={report.command_line} label="Copy the command that makes this result again" /></span>
        )}
        <span class="versions">{versions.map(([name, version]) => `${name} ${fact_text(version)}`).join(" · ")}</span>
      </footer>
    </section>
  );
}
