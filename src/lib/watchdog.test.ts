import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createLogger } from "./log.ts";
import { createWatchdog } from "./watchdog.ts";

function watched() {
  const lines: string[] = [];
  const time = { nowMs: 0, cpuMs: 0 };
  let counted = 0;
  const log = createLogger({
    write: (line) => void lines.push(line.split("\t").slice(1).join("\t")),
    now: () => new Date(0),
  });
  const watchdog = createWatchdog(log, {
    onLong: () => counted++,
    clock: { nowMs: () => time.nowMs, cpuMs: () => time.cpuMs },
  });
  return {
    lines,
    watchdog,
    counted: () => counted,
    async turn(what: string, wallMs: number, cpuMs: number) {
      watchdog.begin(what);
      time.nowMs += wallMs;
      time.cpuMs += cpuMs;
      await nextTurn();
    },
  };
}

test("a turn that took the processor for long is told by name, and counted", async () => {
  const { lines, turn, watchdog, counted } = watched();
  await turn("GET /short", 100, 100);
  await turn("GET /long", 150, 140);
  expect(lines).toEqual(["warn\tthe event loop was held for 150 ms by GET /long\tcpuMs=140"]);
  expect([watchdog.longTurns, counted()]).toEqual([1, 1]);
});

test("of several in one turn the one is told that took long", async () => {
  const { lines, turn, watchdog } = watched();
  watchdog.begin("GET /first");
  await turn("GET /second", 300, 300);
  expect(lines).toEqual(["warn\tthe event loop was held for 300 ms by GET /second\tcpuMs=300"]);
});

test("a turn that waited for the processor is nobody's fault: the busy machine is told once a minute", async () => {
  const { lines, turn, watchdog, counted } = watched();
  for (let i = 0; i < 10; i++) await turn("GET /delayed", 559, 4);
  await turn("GET /nearly", 150, 60);
  expect([watchdog.longTurns, counted()]).toEqual([0, 0]);
  const said =
    "info\tthe machine is busy, or its disk slow: GET /delayed took 559 ms with 4 ms of processor; " +
    "further ones like it are not told for a minute";
  expect(lines).toEqual([said]);
  await turn("GET /later", 60_000, 0);
  expect(lines.length).toBe(2);
  expect(lines[1]).toContain("GET /later took 60000 ms with 0 ms of processor");
});
