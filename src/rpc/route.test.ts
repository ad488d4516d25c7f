import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { WireCall } from "./call.ts";
import { rawCodec } from "./method.ts";
import { duplex } from "./route.ts";

/** Calls of one route with a message of so many bytes each; what is done with them is written down. */
function serve(bytes: number, calls = 1) {
  const said: string[] = [];
  const controller = new AbortController();
  const call: Partial<WireCall> = {
    signal: controller.signal,
    each: async (take) => take(new Uint8Array(bytes)),
  };
  const decode = (): void => void said.push("decoded");
  const route = duplex({ path: "", request: { decode }, response: rawCodec }, (each) =>
    each((): undefined => void said.push("taken")),
  );
  const served = Promise.all(Array.from({ length: calls }, () => route.serve(call as WireCall)));
  return { said, served, abort: () => controller.abort(new Error("gone")) };
}

test("what is small is taken at once; what takes long to decode is taken in a turn of its own", async () => {
  expect(serve(1000).said).toEqual(["decoded", "taken"]);
  const { said, served } = serve(1_000_000);
  while (said.length === 0) await nextTurn();
  expect(said).toEqual(["decoded"]);
  await served;
  expect(said).toEqual(["decoded", "taken"]);
});

test("of many that are large and come at once, no two are decoded in the same turn", async () => {
  const { said, served } = serve(1_000_000, 20);
  for (let turn = 0; said.length < 40; turn++) {
    expect(said.length).toBeLessThanOrEqual(turn);
    await nextTurn();
  }
  await served;
  expect(said.filter((what) => what === "taken")).toHaveLength(20);
});

test("what was decoded for a call that ends before its turn is not taken", async () => {
  const { said, served, abort } = serve(1_000_000);
  while (said.length === 0) await nextTurn();
  abort();
  await expect(served).rejects.toThrow("gone");
  await nextTurn();
  expect(said).toEqual(["decoded"]);
});
