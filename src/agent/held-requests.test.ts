import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Payload } from "../rpc/index.ts";
import { holdRequests } from "./held-requests.ts";

const megabyte = new Uint8Array(1024 * 1024);

function endless() {
  let read = 0;
  async function* requests(): AsyncGenerator<Payload> {
    for (; read < 1000; read++) yield [megabyte];
  }
  return { requests: requests(), read: () => read };
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 200; i++) await nextTurn();
};

test("while nothing is taken, only so much is read", async () => {
  const { requests, read } = endless();
  const held = holdRequests(requests);
  await settle();
  expect(read()).toBeLessThan(70);
  expect(held.canRepeat()).toBe(true);
});

test("once it is taken, reading goes on, and all arrive", async () => {
  const { requests, read } = endless();
  const held = holdRequests(requests);
  held.release();
  let taken = 0;
  let slow = Promise.withResolvers<void>();
  const done = held.sendTo(
    () => {
      taken++;
      return taken === 100 ? slow.promise : undefined;
    },
    () => {},
    new AbortController().signal,
  );
  await settle();
  expect(taken).toBe(100);
  expect(read()).toBeLessThan(170);
  slow.resolve();
  slow = Promise.withResolvers<void>();
  await done;
  expect(taken).toBe(1000);
});

test("a receiver that is gone before it has taken the first is no one between whose requests others come", async () => {
  async function* requests(): AsyncGenerator<Payload> {
    yield [megabyte];
  }
  const gone = new AbortController();
  const slow = Promise.withResolvers<void>();
  let others = 0;
  const done = holdRequests(requests()).sendTo(
    () => slow.promise,
    () => others++,
    gone.signal,
  );
  await settle();
  gone.abort();
  slow.resolve();
  await done;
  expect(others).toBe(0);
});
