/** Nodes and arrows in; where each box is, and the way of each arrow with the place of its words, out. Pure, so that it is tested without a browser. */
import { type Arrow, arrowKey, layersOf } from "./layers.ts";

export interface Box {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
}

export interface Way {
  readonly key: string;
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
const [rowGap, columnGap, margin] = [28, 130, 20];
const [leastWidth, mostWidth, letter] = [90, 220, 8];
/** A bend needs no box, but room for the arrow's words. */
const bendHeight = 22;
const labelHeight = 16;

interface Point {
  readonly x: number;
  readonly y: number;
}

export function pictureOf(
  nodes: readonly { readonly id: string; readonly words: string }[],
  arrows: readonly Arrow[],
): Picture {
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
  let x = margin;
  for (const [i, layer] of layers.entries()) {
    const column = Math.max(0, ...layer.map(widthOf));
    let y = margin + (height - (heights[i] ?? 0)) / 2;
    for (const id of layer) {
      const [width, own] = [widthOf(id), words.has(id) ? boxHeight : 0];
      places.set(id, { id, width, x: x + (column - width) / 2, y: y + (heightOf(id) - own) / 2 });
      y += heightOf(id);
    }
    x += column + columnGap;
  }
  const boxes = [...words.keys()].flatMap((id) => places.get(id) ?? []);
  const ways = arrows.flatMap((arrow) => wayOf(arrow, places, bends.get(arrowKey(arrow)) ?? []) ?? []);
  return { boxes, ways: apart(ways), width: x - columnGap + margin, height: height + 2 * margin };
}

function wayOf(arrow: Arrow, places: ReadonlyMap<string, Box>, bends: readonly string[]): Way | undefined {
  const [from, to] = [places.get(arrow.from), places.get(arrow.to)];
  if (!from || !to) return undefined;
  const key = arrowKey(arrow);
  if (from === to) return loop(key, from);
  const isForward = from.x < to.x;
  const start = { x: isForward ? from.x + from.width : from.x, y: from.y + boxHeight / 2 };
  const end = { x: isForward ? to.x : to.x + to.width, y: to.y + boxHeight / 2 };
  const middle = bends.flatMap((bend) => places.get(bend) ?? []).map(({ x, y }) => ({ x, y }));
  const points = [start, ...middle, end];
  const [a = start, b = end] = points.slice(Math.floor((points.length - 2) / 2));
  return { key, path: curve(points), label: { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 } };
}

function loop(key: string, { x, y, width }: Box): Way {
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

const labelWidth = 84;

/** Words that would lie on others move down until they do not. */
function apart(ways: readonly Way[]): readonly Way[] {
  const taken: Point[] = [];
  return ways.map((way) => {
    let { x, y } = way.label;
    while (taken.some((other) => Math.abs(other.x - x) < labelWidth && Math.abs(other.y - y) < labelHeight))
      y += labelHeight;
    taken.push({ x, y });
    return { ...way, label: { x, y } };
  });
}
