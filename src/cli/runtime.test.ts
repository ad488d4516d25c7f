import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

test("V8's threads yield to the event loop, which keeps its own priority", () => {
  const script = `
    const { readdirSync, readFileSync } = await import("node:fs");
    const { getPriority } = await import("node:os");
    const { favourEventLoop } = await import(${JSON.stringify(join(import.meta.dirname, "runtime.ts"))});
    const priorities = () => readdirSync("/proc/self/task").map((thread) => ({
      name: readFileSync("/proc/self/task/" + thread + "/comm", "utf8").trim(),
      priority: getPriority(Number(thread)),
    }));
    const before = priorities();
    favourEventLoop();
    console.log(JSON.stringify({ before, after: priorities(), own: getPriority() }));`;
  const said = execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  const { before, after, own } = JSON.parse(said) as Record<"before" | "after", readonly Thread[]> & { own: number };

  const isV8 = ({ name }: Thread): boolean => name === "V8Worker";
  expect(after.filter(isV8)).not.toEqual([]);
  expect(new Set(before.map(({ priority }) => priority))).toEqual(new Set([own]));
  expect(new Set(after.filter(isV8).map(({ priority }) => priority))).toEqual(new Set([Math.min(own + 10, 19)]));
  expect(new Set(after.filter((one) => !isV8(one)).map(({ priority }) => priority))).toEqual(new Set([own]));
});

interface Thread {
  readonly name: string;
  readonly priority: number;
}
