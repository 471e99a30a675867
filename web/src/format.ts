// Numbers as the terminal shows them.

export function decibels(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (Number.isNaN(value)) return "nan";
  if (value === Infinity) return "exact";
  if (value === -Infinity) return "-inf";
  return value.toFixed(2);
}

export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2);
  return String(Number(value.toPrecision(5)));
}

export const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;

// The text in about `length` characters, without its middle.
export function elide_middle(text: string, length: number): string {
  if (text.length <= length || length < 3) return text;
  const tail = Math.floor(length / 2);
  return text.slice(0, length - 1 - tail) + "…" + text.slice(text.length - tail);
}

export const words = (name: string): string => name.replaceAll("_", " ");

// "1 node", "2 nodes"
export const count_text = (count: number, noun: string, many = `${noun}s`): string => `${count} ${count === 1 ? noun : many}`;
