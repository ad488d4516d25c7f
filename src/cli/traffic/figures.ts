/** Numbers in; short text for a table out. What is not known is a dash. */

export const percent = (share: number | undefined): string =>
  share === undefined ? "-" : `${(share * 100).toFixed(2)}%`;

export const rate = (perSecond: number): string => `${perSecond.toFixed(perSecond < 10 ? 2 : 1)}rps`;

export function milliseconds(ms: number | undefined): string {
  if (ms === undefined) return "-";
  if (ms >= 10_000) return `${(ms / 1000).toFixed(0)}s`;
  return ms >= 1000 ? `${(ms / 1000).toFixed(1)}s` : `${Math.ceil(ms)}ms`;
}

export function bytesPerSecond(bytes: number): string {
  const [value, unit] = bytes >= 1e6 ? [bytes / 1e6, "MB/s"] : bytes >= 1e3 ? [bytes / 1e3, "kB/s"] : [bytes, "B/s"];
  return `${value.toFixed(1)}${unit}`;
}
