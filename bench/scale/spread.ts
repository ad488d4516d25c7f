/** Times in; their median, the 99th of a hundred and the worst out. */

export interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** How many there were: of less than a hundred the 99th of a hundred is the worst. */
  readonly samples: number;
}

export function spreadOf(times: readonly number[]): Spread | undefined {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0;
  return sorted.length === 0 ? undefined : { p50: at(0.5), p99: at(0.99), max: at(1), samples: sorted.length };
}
