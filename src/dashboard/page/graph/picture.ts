/** Nodes and arrows in; where each box is, and the way of each arrow with the place of its words, out. Pure, so that it is tested without a browser. */
import { type Arrow, arrowKey, layersOf } from "./layers.ts";

export interface Box {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

/** An arrow with the words that stand at it. */
export interface Said extends Arrow {
  readonly words: string;
}

export interface Way {
  readonly key: string;
  readonly words: string;
  /** Of an SVG path. */
  readonly path: string;
  readonly label: { readonly x: number; readonly y: number };
}

export interface Picture {
  readonly boxes: readonly Box[];
  readonly ways: readonly Way[];
  readonly width: number;
  readonly height: number;
}

export const boxHeight = 40;
const [rowGap, leastGap, margin] = [28, 130, 20];
const [leastWidth, mostWidth, letter] = [90, 220, 8];
/** A bend needs no box, but room for the arrow's words. */
const bendHeight = 22;
const labelHeight = 16;
/** Of an arrow's words. */
export const labelWidth = (words: string): number => Math.max(60, words.length * 7 + 16);

interface Point {
  readonly x: number;
  readonly y: number;
}

export function pictureOf(
  nodes: readonly { readonly id: string; readonly words: string }[],
  arrows: readonly Said[],
): Picture {
  const columnGap = Math.max(leastGap, ...arrows.map(({ words: said }) => labelWidth(said) + 20));
  const words = new Map(nodes.map(({ id, words: text }) => [id, text]));
  const { layers, bends } = layersOf([...words.keys()], arrows);
  const widthOf = (id: string): number => {
    const text = words.get(id);
    return text === undefined ? 0 : Math.min(mostWidth, Math.max(leastWidth, text.length * letter + 24));
  };
  const heightOf = (id: string): number => (words.has(id) ? boxHeight + rowGap : bendHeight);
  const heights = layers.map((layer) => layer.reduce((sum, id) => sum + heightOf(id), 0));
  const height = Math.max(boxHeight, ...heights);
  const places = new Map<string, Box>();
  const gaps = new Map<string, Gaps>();
  let x = margin;
  for (const [i, layer] of layers.entries()) {
    const column = Math.max(0, ...layer.map(widthOf));
    let y = margin + (height - (heights[i] ?? 0)) / 2;
    for (const id of layer) {
      const [width, own] = [widthOf(id), words.has(id) ? boxHeight : 0];
      places.set(id, { id, width, x: x + (column - width) / 2, y: y + (heightOf(id) - own) / 2 });
      y += heightOf(id);
      gaps.set(id, { before: x - columnGap / 2, after: x + column + columnGap / 2 });
    }
    x += column + columnGap;
  }
  const boxes = [...words.keys()].flatMap((id) => places.get(id) ?? []);
  const ways = arrows.flatMap((arrow) => wayOf(arrow, places, gaps, bends.get(arrowKey(arrow)) ?? []) ?? []);
  const said = apart(ways);
  const lowest = Math.max(0, ...said.map(({ label }) => label.y));
  return {
    boxes,
    ways: said,
    width: x - columnGap + margin,
    height: Math.max(height + 2 * margin, lowest + labelHeight),
  };
}

/** The middles of the empty columns on both sides of a box. */
interface Gaps {
  readonly before: number;
  readonly after: number;
}

/** Words stand where the arrow crosses the empty column beside its first box, so that they lie on no other box. */
function wayOf(
  arrow: Said,
  places: ReadonlyMap<string, Box>,
  gaps: ReadonlyMap<string, Gaps>,
  bends: readonly string[],
): Way | undefined {
  const [from, to] = [places.get(arrow.from), places.get(arrow.to)];
  if (!from || !to) return undefined;
  const [key, { words }] = [arrowKey(arrow), arrow];
  if (from === to) return { ...loop(key, from), words };
  const isForward = from.x < to.x;
  const start = { x: isForward ? from.x + from.width : from.x, y: from.y + boxHeight / 2 };
  const end = { x: isForward ? to.x : to.x + to.width, y: to.y + boxHeight / 2 };
  const middle = bends.flatMap((bend) => places.get(bend) ?? []).map(({ x, y }) => ({ x, y }));
  const points = [start, ...middle, end];
  const [, next = end] = points;
  const { before = start.x, after = start.x } = gaps.get(arrow.from) ?? {};
  const x = isForward ? after : before;
  return { key, words, path: curve(points), label: { x, y: heightAt(x, start, next) } };
}

/** Of the curve from one point to the next. */
function heightAt(x: number, from: Point, to: Point): number {
  const share = Math.min(1, Math.max(0, (x - from.x) / (to.x - from.x || 1)));
  return from.y + (to.y - from.y) * share * share * (3 - 2 * share);
}

function loop(key: string, { x, y, width }: Box): Omit<Way, "words"> {
  const [left, right] = [x + width * 0.3, x + width * 0.7];
  return {
    key,
    path: `M${left},${y} C${left},${y - 24} ${right},${y - 24} ${right},${y}`,
    label: { x: x + width / 2, y: y - 18 },
  };
}

/** Level at each point, so that arrows leave and come in straight. */
function curve([first = { x: 0, y: 0 }, ...rest]: readonly Point[]): string {
  let from = first;
  const parts = rest.map((to) => {
    const half = (from.x + to.x) / 2;
    const part = `C${half},${from.y} ${half},${to.y} ${to.x},${to.y}`;
    from = to;
    return part;
  });
  return `M${first.x},${first.y} ${parts.join(" ")}`;
}

/** Words that would lie on others move down until they do not. Those of loops have no other place, so they are first. */
function apart(ways: readonly Way[]): readonly Way[] {
  const taken: (Point & { readonly width: number })[] = [];
  const isLoop = ({ key }: Way): boolean => {
    const [from, to] = JSON.parse(key) as readonly unknown[];
    return from === to;
  };
  const place = (way: Way): Way => {
    let { x, y } = way.label;
    const width = labelWidth(way.words);
    const isOn = (other: (typeof taken)[number]): boolean =>
      Math.abs(other.x - x) < (other.width + width) / 2 && Math.abs(other.y - y) < labelHeight;
    while (taken.some(isOn)) y += labelHeight;
    taken.push({ x, y, width });
    return { ...way, label: { x, y } };
  };
  const placed = new Map(
    [...ways.filter(isLoop), ...ways.filter((way) => !isLoop(way))].map((way) => [way.key, place(way)]),
  );
  return ways.map((way) => placed.get(way.key) ?? way);
}
