/** Durations as protobuf JSON and Go write them (`1.5s`, `1h2m`, `100ms`): text in, milliseconds or protobuf parts out. */

const units: ReadonlyMap<string, bigint> = new Map([
  ["h", 3_600_000_000_000n],
  ["m", 60_000_000_000n],
  ["s", 1_000_000_000n],
  ["ms", 1_000_000n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["ns", 1n],
]);

/** Nanoseconds, or undefined for what is no duration. */
export function parseDuration(text: string): bigint | undefined {
  if (text === "0") return 0n;
  const match = /^([+-]?)((?:\d+(?:\.\d*)?|\.\d+)(?:h|ms|m|s|us|µs|ns))+$/.exec(text);
  if (!match || text.length > 64) return undefined;
  let total = 0n;
  for (const [, amount = "", unit = ""] of text.matchAll(/(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)/g)) {
    const size = units.get(unit) ?? 0n;
    const [whole = "", fraction = ""] = amount.split(".");
    total += BigInt(whole === "" ? "0" : whole) * size;
    if (fraction !== "") total += (BigInt(fraction.slice(0, 18)) * size) / 10n ** BigInt(Math.min(fraction.length, 18));
  }
  return match[1] === "-" ? -total : total;
}

export function parseDurationMs(text: string): number | undefined {
  const nanos = parseDuration(text);
  return nanos === undefined ? undefined : Number(nanos) / 1e6;
}

/** The two fields of google.protobuf.Duration. */
export interface DurationParts {
  readonly seconds: bigint;
  readonly nanos: number;
}

export function durationParts(nanos: bigint): DurationParts {
  return { seconds: nanos / 1_000_000_000n, nanos: Number(nanos % 1_000_000_000n) };
}
