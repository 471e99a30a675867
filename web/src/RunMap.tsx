// A decoder's run: tokens from left to right, layers from the first to the last, and where it leaves the reference.
import { useState } from "preact/hooks";
import { ink_on, ramp_colour } from "./colour";
import { as_number, as_object, type Json, type JsonObject } from "./data";
import { Ramp } from "./Ramp";

const cell = { width: 12, height: 18, left: 130, top: 8, letter: 6.2 };
const longest_token = 12;

type Values = (number | null)[];
const numbers = (list: Json | undefined): Values => (Array.isArray(list) ? list.map((value) => (value === "inf" ? Infinity : as_number(value))) : []);
const texts = (list: Json | undefined): string[] => (Array.isArray(list) ? list.map(String) : []);
const said = (value: number | null, unit: string): string => (value === null ? "not measured" : value === Infinity ? "equal" : `${unit === "dB" ? value.toFixed(1) : value.toPrecision(3)} ${unit}`);
const shown_token = (token: string): string => (token.trim() === "" ? "␣" : token.length > longest_token ? `${token.slice(0, longest_token - 1)}…` : token);

// A scale over the figures that there are, so that places are told from each other: its ends are written beside it.
export interface Scale { worst: number; best: number; goodness: (value: number | null) => number | null }
export function scale_of(values: Values, lower_is_better: boolean): Scale {
  const measure = (value: number): number => (lower_is_better ? -Math.log10(Math.max(value, 1e-12)) : value);
  const finite = values.filter((value): value is number => value !== null && Number.isFinite(value)).sort((a, b) => measure(a) - measure(b));
  const worst = finite[0] ?? 0, best = finite[finite.length - 1] ?? 0;
  const span = measure(best) - measure(worst);
  return { worst, best, goodness: (value) => {
    if (value === null || Number.isNaN(value)) return null;
    if (!Number.isFinite(value)) return lower_is_better ? 0 : 1;
    return span > 0 ? Math.min(1, Math.max(0, (measure(value) - measure(worst)) / span)) : 0.5;
  } };
}

function Legend({ scale, unit, what }: { scale: Scale; unit: string; what: string }) {
  return (
    <span class="legend">
      {what} {said(scale.worst, unit)}
      <Ramp />
      {said(scale.best, unit)}
    </span>
  );
}

export function RunMap({ result }: { result: JsonObject }) {
  const map = as_object(result.run_map);
  const tokens = texts(map.tokens), names = texts(map.rows);
  const rows = Array.isArray(map.sqnr_db) ? map.sqnr_db.map(numbers) : [];
  const kl = numbers(map.kl);
  const [picked, pick] = useState<[number, number] | null>(null);
  if (tokens.length === 0) return null;
  const decibels = scale_of(rows.flat(), false), nats = scale_of(kl, true);
  const all = [...rows.map((values, i) => ({ name: names[i] ?? "", values, unit: "dB", scale: decibels })), { name: "next token", values: kl, unit: "nats", scale: nats }];
  const width = cell.left + tokens.length * cell.width + 8, height = cell.top + all.length * cell.height + 12 + cell.letter * Math.max(...tokens.map((token) => shown_token(token).length));
  const worst = kl.reduce<number>((best, value, i) => ((value ?? -1) > (kl[best] ?? -1) ? i : best), 0);
  const [at_row, at_token] = picked ?? [all.length - 1, worst];
  const chosen = all[at_row]!;
  const on_key = (event: KeyboardEvent) => {
    const [down, right] = ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] } as Record<string, [number, number]>)[event.key] ?? [0, 0];
    if (down === 0 && right === 0) return;
    event.preventDefault();
    pick([Math.min(all.length - 1, Math.max(0, at_row + down)), Math.min(tokens.length - 1, Math.max(0, at_token + right))]);
  };
  return (
    <section class="run-map" aria-label="Map of the run">
      <h2>Map of the run</h2>
      <p>
        Token {at_token} <code>{tokens[at_token]}</code>, {chosen.name}: <b aria-live="polite">{said(chosen.values[at_token] ?? null, chosen.unit)}</b>.
        Layers by the SQNR of what they read, the last line by the KL of the next token; orange is worse.
      </p>
      <p class="legends">
        {rows.length > 0 && <Legend scale={decibels} unit="dB" what="layers" />}
        <Legend scale={nats} unit="nats" what="next token" />
      </p>
      <div class="scroll" tabIndex={0} role="group" aria-label="Tokens by layers: arrow keys move" onKeyDown={on_key}>
        <svg width={width} height={height} role="img" aria-label={`${tokens.length} tokens by ${all.length} rows; the worst token is ${worst}, ${said(kl[worst] ?? null, "nats")}`}>
          {all.map((row, y) => (
            <g key={y}>
              <text x={cell.left - 6} y={cell.top + y * cell.height + 13} text-anchor="end" font-size="11" fill="currentColor">{row.name}</text>
              {row.values.map((value, x) => (
                <rect key={x} x={cell.left + x * cell.width} y={cell.top + y * cell.height} width={cell.width - 1} height={cell.height - 1} fill={ramp_colour(row.scale.goodness(value))} stroke={y === at_row && x === at_token ? "currentColor" : ink_on(null)} stroke-width={y === at_row && x === at_token ? 2 : 0} onMouseEnter={() => pick([y, x])}>
                  <title>{`${tokens[x]}: ${said(value, row.unit)}`}</title>
                </rect>
              ))}
            </g>
          ))}
          {tokens.map((token, x) => (
            <text key={x} transform={`translate(${cell.left + x * cell.width + 9} ${cell.top + all.length * cell.height + 5}) rotate(-90)`} text-anchor="end" font-size="10" font-weight={x === at_token ? 700 : 400} fill="currentColor">{shown_token(token)}</text>
          ))}
        </svg>
      </div>
    </section>
  );
}
