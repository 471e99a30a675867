// Names as paths of modules, and blocks that repeat where nothing is named.

interface Placed {
  op: string;
  path: string[];
  kind: string;
}

// "/layer1/layer1.0/conv1/Conv_output_0" is of layer1, 0, conv1; others by their dots and slashes.
export function module_of_name(name: string): string[] {
  if (!name.includes("/")) return [];
  const path: string[] = [];
  let parent = "";
  for (const part of name.replace(/^\//, "").split("/").slice(0, -1)) {
    const own = parent && part.startsWith(parent + ".") ? part.slice(parent.length + 1) : part;
    path.push(...own.split(".").filter((piece) => piece !== ""));
    parent = part;
  }
  return path;
}

export interface Repeat {
  begin: number;
  period: number;
  times: number;
}

// The runs of a block that follows itself, found from the longest cover down; none overlap.
export function find_repeats(sequence: string[], least_period = 3): Repeat[] {
  const found: Repeat[] = [];
  const length = sequence.length;
  for (let period = least_period; period <= Math.min(400, length >> 1); ++period) {
    for (let begin = 0; begin + 2 * period <= length; ) {
      let same = 0;
      while (begin + same + period < length && sequence[begin + same] === sequence[begin + same + period]) ++same;
      const times = Math.floor(same / period) + 1;
      if (times >= 2 && new Set(sequence.slice(begin, begin + period)).size > 1) found.push({ begin, period, times });
      begin += same + 1;
    }
  }
  found.sort((a, b) => b.period * b.times - a.period * a.times || a.period - b.period || a.begin - b.begin);
  const taken = new Array<boolean>(length).fill(false);
  return found
    .filter(({ begin, period, times }) => {
      const end = begin + period * times;
      for (let i = begin; i < end; ++i) if (taken[i]) return false;
      taken.fill(true, begin, end);
      return true;
    })
    .sort((a, b) => a.begin - b.begin);
}

// Gives rows without names the path of the repeated block that they are in.
export function repeated_blocks(rows: Placed[]): void {
  const inner = rows.filter((row) => row.kind !== "output" && row.kind !== "weight");
  find_repeats(inner.map((row) => row.op)).forEach(({ begin, period, times }, which) => {
    for (let i = 0; i < period * times; ++i) inner[begin + i]!.path = [`blocks ${which + 1}`, `block ${Math.floor(i / period) + 1}`];
  });
}
