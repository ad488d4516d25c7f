import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { WireCall } from "./call.ts";
import { rawCodec } from "./method.ts";
import { duplex } from "./route.ts";

/** A call with one message of so many bytes; what is done with it is written down. */
function serve(bytes: number) {
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
  const served = route.serve(call as WireCall);
  return { said, served, abort: () => controller.abort(new Error("gone")) };
}

test("what is small is taken at once; what takes long to decode is taken in a turn of its own", async () => {
  expect(serve(1000).said).toEqual(["decoded", "taken"]);
  const { said, served } = serve(1_000_000);
  expect(said).toEqual(["decoded"]);
  await served;
  expect(said).toEqual(["decoded", "taken"]);
});

test("what was decoded for a call that ends before its turn is not taken", async () => {
  const { said, served, abort } = serve(1_000_000);
  abort();
  await expect(served).rejects.toThrow("gone");
  await nextTurn();
  expect(said).toEqual(["decoded"]);
});
