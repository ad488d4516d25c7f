import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLogger } from "../../../lib/index.ts";
import { createHistoryFile, type History } from "./history-file.ts";
import type { KeptChange } from "./kept-change.ts";

let folder = "";
let stop = new AbortController();
let ends: Promise<void>[] = [];
beforeEach(() => {
  stop = new AbortController();
  ends = [];
  folder = mkdtempSync(join(tmpdir(), "fairlead-history-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const file = (): string => join(folder, "changes.jsonl");
const open = (maxBytes?: number): History =>
  createHistoryFile({
    path: file(),
    log: silentLogger,
    signal: stop.signal,
    onEnd: (written) => ends.push(written),
    ...(maxBytes === undefined ? {} : { maxBytes }),
  });
const change = (id: number, more: Partial<KeptChange> = {}): KeptChange => ({
  ...{ id, object: `VirtualService/shop/web-${id}`, namespace: "shop", act: "changed", at: new Date(id).toISOString() },
  ...{ diff: ["-a", "+b"], ...more },
});
const text = (): string => readFileSync(file(), "utf8");
/** Written, in the order of a control plane's life, and read by the next. */
async function live(changes: readonly KeptChange[], maxBytes?: number): Promise<void> {
  const history = open(maxBytes);
  const all = [...history.read()];
  for (const one of changes) {
    all.unshift(one);
    history.add(one, () => all);
  }
  await expect.poll(() => (text().includes(`"id":${changes.at(-1)?.id},`) ? "written" : "")).toBe("written");
}

test("the next process knows what was changed, by whom and who has it", async () => {
  const author = { manager: "kubectl-edit", operation: "Update" };
  const proxies = { affected: 2, acknowledged: 1, waiting: 0, isOvertaken: false };
  const refusing = [{ proxy: "a.b", part: "RDS 80", words: "no" }];
  const history = open();
  const one = change(1, { author, generation: 3 });
  history.add(one, () => [one]);
  await expect.poll(() => open().read().length).toBe(1);
  one.proxies = { ...proxies, refusing };
  one.touched = [{ type: "RDS", name: "80", act: "changed", proxies: 2 }];
  history.settled(one);
  await expect.poll(() => open().read()).toEqual([one]);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
});

test("a line that was torn is left out, and what comes after it is not", async () => {
  await live([change(1), change(2)]);
  appendFileSync(file(), '{"id":3,"object":"Virt');
  expect(
    open()
      .read()
      .map(({ id }) => id),
  ).toEqual([2, 1]);
  await live([change(4)]);
  expect(
    open()
      .read()
      .map(({ id }) => id),
  ).toEqual([4, 2, 1]);
});

test("what has just come is written when the control plane ends, and nothing after that", () => {
  appendFileSync(file(), '{"id":1,"object":"Virt');
  const history = open();
  const [two, three] = [change(2), change(3)];
  history.add(two, () => [two]);
  stop.abort();
  history.add(three, () => [three, two]);
  expect(
    open()
      .read()
      .map(({ id }) => id),
  ).toEqual([2]);
});

test("what comes while the file is written anew is in it when the control plane has ended", async () => {
  const history = open();
  const [one, two] = [change(1), change(2)];
  await new Promise<void>((resolve) => {
    history.add(one, () => {
      // Writing anew has begun then, and has not ended.
      queueMicrotask(() => {
        history.add(two, () => [two, one]);
        stop.abort();
        resolve();
      });
      return [one];
    });
  });
  await Promise.all(ends);
  const read = open().read();
  expect(read.map(({ id }) => id)).toEqual([2, 1]);
});

test("what a link leads to is not written to", async () => {
  const target = join(folder, "other");
  writeFileSync(target, "own\n");
  symlinkSync(target, file());
  const history = open();
  history.add(change(1), () => []);
  stop.abort();
  await Promise.all(ends);
  expect(readFileSync(target, "utf8")).toBe("own\n");
});

test("nonsense is no change", () => {
  appendFileSync(
    file(),
    `[]\n{}\n{"id":1}\n{"id":"1","object":"x"}\n\u0000\n{"id":2,"object":"A/b","at":"x","act":"eaten"}\n`,
  );
  expect(open().read()).toEqual([]);
});

test("it does not grow for ever: the oldest lose their differences first", async () => {
  const large = Array.from({ length: 50 }, (_, i) => `+${i}`.padEnd(100, "x"));
  for (let life = 0; life < 3; life++)
    await live(
      Array.from({ length: 10 }, (_, i) => change(life * 10 + i + 1, { diff: large })),
      40_000,
    );
  expect(statSync(file()).size).toBeLessThan(60_000);
  const read = open().read();
  expect(read).toHaveLength(30);
  expect([read[0]?.diff.length, read.at(-1)?.diff]).toEqual([50, [" the difference is no longer kept"]]);
});
