import fc from "fast-check";
import { expect, test } from "vitest";
import { layersOf } from "./layers.ts";
import { boxHeight, labelWidth, pictureOf, type Said } from "./picture.ts";

const graphs = fc.integer({ min: 1, max: 40 }).chain((size) =>
  fc.uniqueArray(fc.tuple(fc.nat(size - 1), fc.nat(size - 1)), { maxLength: 80, selector: String }).map((pairs) => ({
    nodes: Array.from({ length: size }, (_, i) => ({ id: `n${i}`, words: `node ${i}` })),
    arrows: pairs.map(
      ([from, to]): Said => ({
        ...{ from: `n${from}`, to: `n${to}` },
        words: "1.0/s 5 % F T".slice(0, 3 + ((from * 7 + to) % 11)),
      }),
    ),
  })),
);

test("no box lies on another, all is within the picture, and no words lie on others", () => {
  fc.assert(
    fc.property(graphs, ({ nodes, arrows }) => {
      const { boxes, ways, width, height } = pictureOf(nodes, arrows);
      expect(boxes).toHaveLength(nodes.length);
      expect(ways).toHaveLength(arrows.length);
      for (const [i, a] of boxes.entries()) {
        expect(a.x >= 0 && a.y >= 0 && a.x + a.width <= width && a.y + boxHeight <= height).toBe(true);
        for (const b of boxes.slice(i + 1))
          expect(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + boxHeight <= b.y || b.y + boxHeight <= a.y).toBe(
            true,
          );
      }
      for (const [i, a] of ways.entries()) {
        expect(a.path).not.toContain("NaN");
        const width = labelWidth(a.words);
        for (const b of ways.slice(i + 1))
          expect(
            Math.abs(a.label.x - b.label.x) >= (width + labelWidth(b.words)) / 2 ||
              Math.abs(a.label.y - b.label.y) >= 16,
          ).toBe(true);
        // But for those of loops, which stand over their own box, no words lie on a box.
        const [from, to] = JSON.parse(a.key) as [string, string];
        for (const box of from === to ? [] : boxes)
          expect(a.label.x + width / 2 <= box.x || a.label.x - width / 2 >= box.x + box.width).toBe(true);
        expect(a.label.y <= height).toBe(true);
      }
    }),
  );
});

test("callers are left of those whom they call, but for rings", () => {
  const arrows = [
    { from: "web", to: "api" },
    { from: "api", to: "db" },
    { from: "web", to: "db" },
    { from: "db", to: "web" },
  ];
  const { layers, bends } = layersOf(["db", "api", "web"], arrows);
  const layerOf = (id: string): number => layers.findIndex((layer) => layer.includes(id));
  expect([layerOf("web"), layerOf("api"), layerOf("db")].toSorted()).toEqual([0, 1, 2]);
  // What leads over a layer bends in it.
  expect([...bends.values()].map((list) => list.length).toSorted()).toEqual([0, 0, 0, 1]);
});

test("a thousand nodes are laid out", () => {
  const nodes = Array.from({ length: 1000 }, (_, i) => ({ id: `n${i}`, words: `node ${i}` }));
  const arrows = nodes.slice(1).map(({ id }, i) => ({ from: `n${Math.floor(i / 3)}`, to: id, words: "1/s" }));
  expect(pictureOf(nodes, arrows).boxes).toHaveLength(1000);
});
