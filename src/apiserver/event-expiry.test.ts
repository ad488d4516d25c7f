/** Events of different ages in a real store: those of more than an hour go, by the last time that they were seen. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import { expireEvents } from "./event-expiry.ts";
import { createStore, type Store } from "./store.ts";
import { openStoreFile } from "./store-file.ts";

let dir: string;
let store: Store;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "fairlead-events-"));
  store = createStore(openStoreFile(join(dir, "store.mdb")), silentLogger);
});
afterAll(async () => {
  await store.close();
  await rm(dir, { recursive: true, force: true });
});

const now = new Date("2026-01-01T12:00:00Z");
const ago = (minutes: number): string => new Date(now.getTime() - minutes * 60_000).toISOString();

test("an Event lives for an hour after it was last seen", async () => {
  const make = (name: string, created: number, fields: object): Promise<unknown> =>
    store.write("/events", `default/${name}`, undefined, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace: "default", creationTimestamp: ago(created) },
      ...fields,
    });
  await make("new", 5, {});
  await make("old", 61, {});
  await make("old-but-seen", 300, { lastTimestamp: ago(10) });
  await make("old-but-told", 300, { eventTime: ago(59) });
  await make("long-gone", 300, { lastTimestamp: ago(120), eventTime: null });
  await expireEvents(store, now);
  expect(store.list("/events").map(({ metadata }) => metadata.name)).toEqual(["new", "old-but-seen", "old-but-told"]);
});
