/** Who points at whom in; for each node a layer, so that arrows lead from left to right, and its place within, out. */

export interface Arrow {
  readonly from: string;
  readonly to: string;
}

/** Layers from left to right, each from top to bottom. Arrows over several layers have a bend in each between. */
export interface Layers {
  readonly layers: readonly (readonly string[])[];
  /** The bends of an arrow, by `arrowKey`, in the direction in which it points. */
  readonly bends: ReadonlyMap<string, readonly string[]>;
}

export const arrowKey = ({ from, to }: Arrow): string => JSON.stringify([from, to]);

/** More rounds hardly change anything. */
const rounds = 8;

export function layersOf(nodes: readonly string[], arrows: readonly Arrow[]): Layers {
  const back = ringArrows(nodes, arrows);
  // One to itself is drawn beside its node.
  const forward = arrows
    .filter(({ from, to }) => from !== to)
    .map((arrow) => ({ arrow, ...(back.has(arrowKey(arrow)) ? { from: arrow.to, to: arrow.from } : arrow) }));
  const layer = longestPaths(nodes, forward);
  const rows = Array.from({ length: Math.max(-1, ...layer.values()) + 1 }, (): string[] => []);
  for (const node of nodes) rows[layer.get(node) ?? 0]?.push(node);
  const links: Arrow[] = [];
  const bends = new Map<string, readonly string[]>();
  for (const { arrow, from, to } of forward) {
    const between: string[] = [];
    for (let i = (layer.get(from) ?? 0) + 1; i < (layer.get(to) ?? 0); i++) {
      const bend = `bend ${arrowKey(arrow)} ${i}`;
      rows[i]?.push(bend);
      between.push(bend);
    }
    const way = [from, ...between, to];
    for (const [i, step] of way.slice(1).entries()) links.push({ from: way[i] ?? from, to: step });
    bends.set(arrowKey(arrow), back.has(arrowKey(arrow)) ? between.toReversed() : between);
  }
  return { layers: ordered(rows, links), bends };
}

/** Arrows that close a ring: turned round while layers are found. */
function ringArrows(nodes: readonly string[], arrows: readonly Arrow[]): ReadonlySet<string> {
  const next = Map.groupBy(arrows, ({ from }) => from);
  const state = new Map<string, "open" | "done">();
  const found = new Set<string>();
  const walk = (start: string): void => {
    const path: { node: string; at: number }[] = [{ node: start, at: 0 }];
    state.set(start, "open");
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const arrow = next.get(top.node)?.[top.at++];
      if (!arrow) {
        state.set(top.node, "done");
        path.pop();
      } else if (state.get(arrow.to) === "open") found.add(arrowKey(arrow));
      else if (!state.has(arrow.to)) {
        state.set(arrow.to, "open");
        path.push({ node: arrow.to, at: 0 });
      }
    }
  };
  for (const node of nodes) if (!state.has(node)) walk(node);
  return found;
}

function longestPaths(nodes: readonly string[], arrows: readonly Arrow[]): ReadonlyMap<string, number> {
  const layer = new Map(nodes.map((node) => [node, 0]));
  const waits = new Map(nodes.map((node) => [node, 0]));
  for (const { to } of arrows) waits.set(to, (waits.get(to) ?? 0) + 1);
  const next = Map.groupBy(arrows, ({ from }) => from);
  const ready = nodes.filter((node) => waits.get(node) === 0);
  for (let node = ready.pop(); node !== undefined; node = ready.pop())
    for (const { to } of next.get(node) ?? []) {
      layer.set(to, Math.max(layer.get(to) ?? 0, (layer.get(node) ?? 0) + 1));
      const left = (waits.get(to) ?? 1) - 1;
      waits.set(to, left);
      if (left === 0) ready.push(to);
    }
  return layer;
}

/** Each node near the middle of those that it is tied to, once from the left and once from the right, and again. */
function ordered(rows: readonly (readonly string[])[], links: readonly Arrow[]): readonly (readonly string[])[] {
  const before = Map.groupBy(links, ({ to }) => to);
  const after = Map.groupBy(links, ({ from }) => from);
  let best = rows;
  const place = new Map<string, number>();
  const note = (row: readonly string[]): void =>
    row.forEach((node, i) => void place.set(node, i / Math.max(1, row.length)));
  best.forEach(note);
  for (let round = 0; round < rounds; round++) {
    const fromLeft = round % 2 === 0;
    const ties = (node: string): readonly string[] =>
      fromLeft ? (before.get(node) ?? []).map(({ from }) => from) : (after.get(node) ?? []).map(({ to }) => to);
    const sorted = (row: readonly string[]): readonly string[] => {
      const wish = new Map(
        row.map((node) => [node, mean(ties(node).map((tie) => place.get(tie) ?? 0)) ?? place.get(node) ?? 0]),
      );
      const next = row.toSorted((a, b) => (wish.get(a) ?? 0) - (wish.get(b) ?? 0));
      note(next);
      return next;
    };
    best = fromLeft ? best.map(sorted) : best.toReversed().map(sorted).toReversed();
  }
  return best;
}

const mean = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
