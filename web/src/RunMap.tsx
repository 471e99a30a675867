// A decoder's run: tokens from left to right, layers from the first to the last, and where it leaves the reference.
import { useState } from "preact/hooks";
import { ink_on, ramp_colour } from "./colour";
import { as_number, as_object, type Json, type JsonObject } from "./data";

const least_db = 0, most_db = 60;
const cell = { width: 12, height: 18, left: 130, top: 8 };

const numbers = (list: Json | undefined): (number | null)[] => (Array.isArray(list) ? list.map((value) => (value === "inf" ? Infinity : as_number(value))) : []);
const texts = (list: Json | undefined): string[] => (Array.isArray(list) ? list.map(String) : []);
// 0 to 1: from the worst to the best of the scale.
export const goodness_of_db = (value: number | null): number | null => (value === null ? null : Math.min(1, Math.max(0, (value - least_db) / (most_db - least_db))));
// A KL of 1 nat is as bad as it gets, one of a hundred-thousandth as good.
export const goodness_of_kl = (value: number | null): number | null => (value === null ? null : Math.min(1, Math.max(0, -Math.log10(Math.max(value, 1e-5)) / 5)));
const said = (value: number | null, unit: string): string => (value === null ? "not measured" : value === Infinity ? "equal" : `${unit === "dB" ? value.toFixed(1) : value.toPrecision(3)} ${unit}`);

export function RunMap({ result }: { result: JsonObject }) {
  const map = as_object(result.run_map);
  const tokens = texts(map.tokens), names = texts(map.rows);
  const rows = Array.isArray(map.sqnr_db) ? map.sqnr_db.map(numbers) : [];
  const kl = numbers(map.kl);
  const [picked, pick] = useState<[number, number] | null>(null);
  if (tokens.length === 0) return null;
  const all = [...rows.map((values, i) => ({ name: names[i] ?? "", values, unit: "dB", goodness: goodness_of_db })), { name: "next token", values: kl, unit: "nats", goodness: goodness_of_kl }];
  const width = cell.left + tokens.length * cell.width, height = cell.top + all.length * cell.height;
  const worst = kl.reduce<number>((best, value, i) => ((value ?? -1) > (kl[best] ?? -1) ? i : best), 0);
  const [at_row, at_token] = picked ?? [all.length - 1, worst];
  const chosen = all[at_row]!;
  return (
    <section class="run-map" aria-label="Map of the run">
      <h2>Map of the run</h2>
      <p>
        Token {at_token} <code>{tokens[at_token]}</code>, {chosen.name}: <b>{said(chosen.values[at_token] ?? null, chosen.unit)}</b>.
        Layers by the SQNR of what they read, the last line by the KL of the next token; orange is worse.
      </p>
      <div style="overflow-x: auto" tabIndex={0} role="group" aria-label="Tokens by layers">
        <svg width={width} height={height} role="img" aria-label={`${tokens.length} tokens by ${all.length} rows; the worst token is ${worst}, ${said(kl[worst] ?? null, "nats")}`}>
          {all.map((row, y) => (
            <g key={y}>
              <text x={cell.left - 6} y={cell.top + y * cell.height + 13} text-anchor="end" font-size="11" fill="currentColor">{row.name}</text>
              {row.values.map((value, x) => (
                <rect key={x} x={cell.left + x * cell.width} y={cell.top + y * cell.height} width={cell.width - 1} height={cell.height - 1} fill={ramp_colour(row.goodness(value))} stroke={y === at_row && x === at_token ? "currentColor" : ink_on(null)} stroke-width={y === at_row && x === at_token ? 2 : 0} onMouseEnter={() => pick([y, x])}>
                  <title>{`${tokens[x]}: ${said(value, row.unit)}`}</title>
                </rect>
              ))}
            </g>
          ))}
        </svg>
      </div>
    </section>
  );
}
