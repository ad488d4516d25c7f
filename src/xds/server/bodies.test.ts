import { expect, test } from "vitest";
import { encodedResource } from "../../model/index.ts";
import { createBodies } from "./bodies.ts";
import { createEncode, type WireResponse } from "./wire.ts";

const resources = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, i) => encodedResource(`r${i}`, new Uint8Array(bytes).fill(i + 1)));
const whole = (pieces: readonly Uint8Array[]) => Buffer.concat(pieces).toString("hex");

test("the second stream on is handed the same chunks, also where it has a list of its own", () => {
  const bodies = createBodies();
  const list = resources(100, 1000);
  let made = 0;
  const get = (of: typeof list) =>
    bodies.get(of, 100_000, () => {
      made++;
      return of.flatMap(({ pieces }) => pieces);
    });
  const first = get(list);
  const second = get([...list]);
  expect(second.length).toBeLessThan(first.length);
  expect(whole(second)).toBe(whole(first));
  expect(get([...list])).toBe(second);
  expect(made).toBe(2);
  expect(bodies.kept).toBe(100_000);
  const other = [...list.slice(1), ...resources(1, 1000)];
  expect(whole(get(other))).not.toBe(whole(first));
});

test("what is kept is bounded", () => {
  const bodies = createBodies();
  for (let i = 0; i < 100; i++) {
    const list = resources(1, 1_000_000);
    for (let k = 0; k < 2; k++) bodies.get(list, 1_000_000, () => list.flatMap(({ pieces }) => pieces));
  }
  expect(bodies.kept).toBeLessThanOrEqual(16 * 1024 * 1024);
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
