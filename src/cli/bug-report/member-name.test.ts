import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tarOf } from "../../../scripts/image/tar.ts";
import { memberName } from "./member-name.ts";

test("plain names stay as they are", () => {
  expect(memberName("logs", "default", "web-5d4-x.1", "app.log")).toBe("logs/default/web-5d4-x.1/app.log");
});

test("no name leaves the report, is too long for it, or takes another's place", () => {
  const hostile = [
    ...[
      "..",
      ".",
      "",
      "/",
      "../../../etc/cron.d/x",
      "/etc/passwd",
      "a/b",
      "a\\b",
      "a\nb",
      "a\0b",
      "-rf",
      "\u202egnp.exe",
    ],
    ...["x".repeat(5000), `${"x".repeat(4999)}y`, "é".repeat(200), "C:\\x", "a b", "..x"],
  ];
  const names = hostile.map((name) => memberName("control-plane", name, "proxies", `${name}.json`));
  expect(new Set(names).size).toBe(hostile.length);
  for (const name of names) expect(name).toMatch(/^control-plane(\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,70}){3}$/);
  const dir = mkdtempSync(join(tmpdir(), "report-"));
  const entries = names.map((name) => ({
    ...({ type: "file", path: `/fairlead-bug-report/${name}`, mode: 0o600 } as const),
    content: { bytes: Buffer.from("x") },
  }));
  writeFileSync(join(dir, "report.tar"), tarOf(entries));
  // -P: as a program would that is not careful.
  execFileSync("tar", ["xPf", "report.tar"], { cwd: dir });
  expect(readdirSync(dir).sort()).toEqual(["fairlead-bug-report", "report.tar"]);
  rmSync(dir, { recursive: true });
});
