import { ramp_colour } from "./colour";

// The colours from bad to good, for legends.
export function Ramp() {
  const steps = Array.from({ length: 12 }, (_, i) => i / 11);
  return <svg class="ramp" width={steps.length * 8} height={10} aria-hidden="true">{steps.map((step, i) => <rect key={i} x={i * 8} width={8} height={10} fill={ramp_colour(step)} />)}</svg>;
}
