import { expect, test } from "vitest";
import { encodedResource } from "../../model/index.ts";
import { createBodies } from "./bodies.ts";
import { createEncode, type WireResponse } from "./wire.ts";

const resources = (count: number, bytes: number, from = 0) =>
  Array.from({ length: count }, (_, i) => encodedResource(`r${from + i}`, Buffer.alloc(bytes, `${from + i}.`)));
type List = ReturnType<typeof resources>;
const whole = (pieces: readonly Uint8Array[]) => Buffer.concat(pieces).toString("hex");
const bytesOf = (pieces: readonly Uint8Array[]) => pieces.reduce((sum, { length }) => sum + length, 0);

function counted() {
  const bodies = createBodies<List[number]>();
  let asked = 0;
  return {
    bodies,
    of: (list: List) =>
      bodies.of(list, (pieces, resource) => {
        asked++;
        pieces.push(...resource.pieces);
      }),
    asked: () => asked,
  };
}

test("the second stream on is handed the same chunks, also where it has a list of its own", () => {
  const { of, asked } = counted();
  const list = resources(1000, 500);
  const first = of(list);
  const second = of([...list]);
  expect(second.length).toBeLessThan(first.length / 5);
  expect(whole(second)).toBe(whole(first));
  const before = asked();
  const third = of([...list]);
  expect(third.filter((chunk) => second.includes(chunk)).length).toBeGreaterThan(second.length - 40);
  expect(asked() - before).toBeLessThan(40);
});

test("streams whose lists differ in one resource share the chunks of all others", () => {
  const { of } = counted();
  const list = resources(1000, 500);
  of(list);
  const shared = new Set(of(list));
  const other = list.toSpliced(500, 1, ...resources(1, 500, 5000));
  const pieces = of(other);
  expect(whole(pieces)).toBe(whole(other.flatMap((one) => one.pieces)));
  const own = pieces.filter((piece) => !shared.has(piece));
  expect(bytesOf(own)).toBeLessThan(150 * 1024);
});

test("lists of twenty namespaces that differ in one resource each are all known from the third time on", () => {
  const { of, bodies } = counted();
  const list = resources(200, 500);
  const all = Array.from({ length: 20 }, (_, i) => list.toSpliced(3, 1, ...resources(1, 500, 5000 + i)));
  for (let i = 0; i < 3; i++) all.forEach(of);
  for (const one of all) expect(whole(bodies.known(one) ?? [])).toBe(whole(one.flatMap(({ pieces }) => pieces)));
});

test("what is kept is bounded", () => {
  const { of, bodies } = counted();
  for (let i = 0; i < 100; i++) {
    const list = resources(20, 50_000, i * 20);
    for (let k = 0; k < 2; k++) of(list);
  }
  expect(bodies.kept).toBeGreaterThan(0);
  expect(bodies.kept).toBeLessThanOrEqual(17 * 1024 * 1024);
});

test("streams that are handed the same small list get the same bytes but for version and nonce", () => {
  const encode = createEncode("id");
  const response = { type: "t", resources: resources(3, 10), removed: ["gone"] };
  const [, first] = encode("delta", { ...response, version: "1", nonce: "1a" });
  const [own, second] = encode("delta", { ...response, version: "2", nonce: "2b" });
  expect(second).toBe(first);
  expect(Buffer.from(own ?? []).toString("latin1")).toBe("\n\u00012*\u00022b");
  const [, other] = encode("delta", { ...response, removed: [], version: "3", nonce: "3c" });
  expect(Buffer.from(other ?? []).includes("gone")).toBe(false);
});

test("a response is the same to the byte however it was put together", () => {
  const encode = createEncode("id");
  const response: WireResponse = {
    type: "type.googleapis.com/t",
    version: "v",
    nonce: "n",
    resources: resources(50, 2000),
    removed: ["gone"],
  };
  for (const variant of ["sotw", "delta"] as const) {
    const alone = whole(createEncode("id")(variant, response));
    for (let i = 0; i < 3; i++)
      expect(whole(encode(variant, { ...response, resources: [...response.resources] }))).toBe(alone);
  }
});
