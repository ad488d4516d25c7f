/**
 * A process that opens a store, says what is in it, writes, says what was acknowledged, and kills itself at the place that
 * it is told: before a transaction, in the middle of one, with all of it written and nothing committed, with all of it on
 * disk and nothing acknowledged, or with a part acknowledged.
 */
import { writeSync } from "node:fs";
import { createStore } from "../../../src/apiserver/store.ts";
import { openStoreFile, type RecordWrite } from "../../../src/apiserver/store-file.ts";
import { silentLogger } from "../../../src/lib/index.ts";
import type { Order } from "./run.ts";

const { path, point, after, run } = JSON.parse(process.argv[2] ?? "") as Order;
/** At once, past every buffer of our own. */
const say = (...words: readonly unknown[]): void => void writeSync(1, `${words.join(" ")}\n`);
const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  // The signal has come before this returns.
  for (;;);
};

const file = openStoreFile(path);
let commits = 0;
let acknowledged = 0;
const store = createStore(
  {
    ...file,
    commit(writes, version) {
      const isHere = ++commits > after;
      if (isHere && point === "before") die();
      const middle = Math.floor(writes.length / 2);
      file.commit(
        !isHere || (point !== "middle" && point !== "written")
          ? writes
          : [
              ...writes.slice(0, point === "middle" ? middle : undefined),
              deadly(),
              ...writes.slice(point === "middle" ? middle : writes.length),
            ],
        version,
      );
      if (isHere && point === "synced") die();
    },
  },
  silentLogger,
);
for (const object of store.list("/configmaps"))
  say("has", object.metadata.name, object.metadata.resourceVersion, object.op);
say("ready", store.version, Math.round(performance.now()));

/** A record that is read inside the transaction, after those before it have been put. */
function deadly(): RecordWrite {
  return {
    resource: "/configmaps",
    key: "deadly",
    get text(): string {
      return die();
    },
  };
}

for (let round = 0; round < after + 2; round++)
  await Promise.all(
    Array.from({ length: 6 }, async (_, i) => {
      const name = `k${(round * 3 + i) % 10}`;
      const op = `${run}-${round}-${i}`;
      const before = store.get("/configmaps", name);
      const next =
        round % 3 === 2 && i === 5 ? undefined : { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, op };
      if (!next && !before) return;
      say("asks", name, next ? op : "-");
      const written = await store.write("/configmaps", name, before?.metadata.resourceVersion, next);
      if (written === "changed") return;
      say("acknowledged", name, next ? written.metadata.resourceVersion : store.version, next ? op : "-");
      if (point === "acknowledged" && ++acknowledged > after * 6 + 2) die();
    }),
  );
die();
