/** Points in; how steeply they rise, by least squares, out. */

export interface Point {
  readonly seconds: number;
  readonly value: number;
}

/** Per second; 0 for fewer than two points. */
export function slopeOf(points: readonly Point[]): number {
  const mean = (of: (point: Point) => number): number =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [middle, level] = [mean(({ seconds }) => seconds), mean(({ value }) => value)];
  const spread = points.reduce((sum, { seconds }) => sum + (seconds - middle) ** 2, 0);
  if (points.length < 2 || spread === 0) return 0;
  return points.reduce((sum, { seconds, value }) => sum + (seconds - middle) * (value - level), 0) / spread;
}

/** The lowest of each window: what is left after garbage was collected. */
export function floorOf(points: readonly Point[], windowSeconds: number): readonly Point[] {
  const lowest = new Map<number, Point>();
  for (const point of points) {
    const window = Math.floor(point.seconds / windowSeconds);
    const known = lowest.get(window);
    if (!known || point.value < known.value) lowest.set(window, point);
  }
  return [...lowest.values()];
}
