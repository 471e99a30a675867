// The verdict of a saved result in one line, as the terminal ends with it.
import { as_list, as_text, type JsonObject } from "./data";

const most_failures = 3;

const texts = (list: JsonObject[]): string[] => list.map((each) => as_text(each.text));

export const doubt_texts = (verdict: JsonObject): string[] => texts(as_list(verdict.doubts));

export function saved_verdict(verdict: JsonObject): string {
  const all = texts(as_list(verdict.failures));
  const rest = all.length - most_failures;
  const failures = [...all.slice(0, most_failures), ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ");
  if (verdict.outcome !== "inconclusive") return failures;
  const why = doubt_texts(verdict).join("; ") || "nothing was measured";
  return failures ? `${failures}, but ${why}` : why;
}
