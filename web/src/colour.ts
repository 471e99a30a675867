// From orange over pale to blue: told apart by people who do not see red or green.
type Rgb = [number, number, number];
const ramp: [number, Rgb][] = [
  [0, [178, 58, 9]],
  [0.33, [232, 150, 30]],
  [0.5, [240, 214, 150]],
  [0.67, [150, 196, 226]],
  [1, [44, 107, 172]],
];

export function ramp_colour(goodness: number | null): string {
  if (goodness === null) return "var(--node)";
  const upper = ramp.findIndex(([at]) => goodness <= at);
  const [high_at, high] = ramp[Math.max(0, upper)]!;
  const [low_at, low] = ramp[Math.max(0, upper - 1)]!;
  const share = high_at > low_at ? (goodness - low_at) / (high_at - low_at) : 0;
  return `rgb(${low.map((value, i) => Math.round(value + share * (high[i]! - value))).join(" ")})`;
}

// Text that is read on the colour.
export const ink_on = (goodness: number | null): string =>
  goodness === null ? "var(--ink)" : goodness < 0.2 || goodness > 0.85 ? "#fff" : "#1b1b1b";

// A picture's element: values from white (low) to dark blue (high); errors from orange over white to blue.
export function value_colour(share: number): Rgb {
  const s = Math.min(1, Math.max(0, share));
  return [250 - 235 * s, 250 - 205 * s * s, 252 - 150 * s * s * s];
}
export function error_colour(share: number): Rgb {
  const s = Math.min(1, Math.abs(share));
  return share < 0 ? [250 - 206 * s, 250 - 143 * s, 250 - 78 * s] : [250 - 60 * s, 250 - 185 * s, 250 - 240 * s];
}
