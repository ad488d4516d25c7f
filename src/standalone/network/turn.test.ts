import { Server } from "node:net";
import { expect, test, vi } from "vitest";
import { createLogger } from "../../lib/index.ts";
import { takeTurn } from "./turn.ts";

/** Not the one of meshes that other tests start meanwhile. */
const name = `\0fairlead takes ranges for the test ${process.pid}`;

function waiter() {
  const told: string[] = [];
  const log = createLogger({ now: () => new Date(0), write: (line) => told.push(line) });
  const controller = new AbortController();
  const take = (more = {}) => takeTurn({ log, signal: controller.signal, name, ...more });
  return { told, take, abort: (reason: Error) => controller.abort(reason) };
}

test("turns are taken one after the other", async () => {
  const order: string[] = [];
  const one = async (who: string): Promise<void> => {
    const turn = await waiter().take();
    order.push(`${who} begins`);
    await new Promise((done) => setImmediate(done));
    order.push(`${who} ends`);
    turn.end();
  };
  await Promise.all(["a", "b", "c"].map(one));
  expect(order).toHaveLength(6);
  for (let i = 0; i < 6; i += 2) expect(order[i]?.replace("begins", "ends")).toBe(order[i + 1]);
});

test("who keeps a turn for ever keeps nobody from starting, and whoever waits is told why", async () => {
  const kept = await waiter().take();
  const { told, take } = waiter();
  const other = await take({ maxMs: 1000 });
  other.end();
  kept.end();
  await (await waiter().take()).end();
  expect(told).toEqual([
    expect.stringContaining("waiting for it"),
    expect.stringMatching(/without a turn.*somebody else has had it for 1 s/),
  ]);
});

test("who is told to stop waits no longer", async () => {
  const kept = await waiter().take();
  const { told, take, abort } = waiter();
  const taken = take();
  abort(new Error("interrupted"));
  await expect(taken).rejects.toThrow("interrupted");
  kept.end();
  expect(told).toHaveLength(1);
});

test("where there are no turns to be had, nobody waits for one", async () => {
  const { told, take } = waiter();
  const turn = await take({ name: "/nowhere/at all" });
  turn.end();
  expect(told).toEqual([expect.stringContaining("without a turn")]);
});

test("a knock that cannot be answered for want of descriptors ends nobody", async () => {
  const servers: Server[] = [];
  const listen = vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server, ...args: unknown[]) {
    servers.push(this);
    listen.mockRestore();
    return this.listen(...(args as [string]));
  });
  const turn = await waiter().take();
  expect(servers).toHaveLength(1);
  // As node tells of it.
  expect(() => servers[0]?.emit("error", new Error("accept EMFILE"))).not.toThrow();
  turn.end();
});
