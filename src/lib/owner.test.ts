import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { isAlive, ownerOf } from "./owner.ts";

test("an owner is the process with this id and this start", () => {
  const own = ownerOf(process.pid);
  expect(own && isAlive(own)).toBe(true);
  expect(isAlive({ pid: process.pid, started: "1" })).toBe(false);
});

const withoutTimeNamespaces = spawnSync("unshare", ["--time", "true"]).status !== 0;

test.skipIf(lacks("root") || withoutTimeNamespaces)("who looks from another time namespace sees the same owner", () => {
  const module = join(import.meta.dirname, "owner.ts");
  const script = `import(${JSON.stringify(module)}).then((m) => console.log(JSON.stringify(m.ownerOf(${process.pid}))))`;
  const under = [
    "--time",
    "--boottime",
    "86400",
    "--monotonic",
    "86400",
    "--fork",
    "--",
    process.execPath,
    "-e",
    script,
  ];
  const { stdout } = spawnSync("unshare", under, { encoding: "utf8" });
  expect(JSON.parse(stdout)).toEqual(ownerOf(process.pid));
});
