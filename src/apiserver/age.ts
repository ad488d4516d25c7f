/** Times in, the short ages of kubectl's tables out (`5d`, `3h12m`, `42s`). */

export function age(timestamp: string, now: Date): string {
  const since = Date.parse(timestamp);
  return Number.isNaN(since) ? "<unknown>" : shortDuration(now.getTime() - since);
}

/** The rounding that kubectl uses: the longer the time, the fewer the units. */
export function shortDuration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (hours < 192) return two(days, "d", hours % 24, "h");
  if (days < 730) return `${days}d`;
  const years = Math.floor(days / 365);
  return days < 8 * 365 ? two(years, "y", days % 365, "d") : `${years}y`;
}

function two(first: number, firstUnit: string, second: number, secondUnit: string): string {
  return second === 0 ? `${first}${firstUnit}` : `${first}${firstUnit}${second}${secondUnit}`;
}
