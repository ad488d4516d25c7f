import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { readBoundedFile } from "./bounded-file.ts";

const dir = mkdtempSync(join(tmpdir(), "fl-bounded-"));
const path = join(dir, "file");
afterAll(() => rmSync(dir, { recursive: true }));

test("a file up to the limit is read, also through a link; a larger one is not taken into memory", () => {
  writeFileSync(path, "grün");
  symlinkSync(path, join(dir, "link"));
  expect(readBoundedFile(path, 5)).toBe("grün");
  expect(readBoundedFile(join(dir, "link"), 5)).toBe("grün");
  expect(() => readBoundedFile(path, 4)).toThrow("more than 4 bytes");
  truncateSync(path, 64 * 1024 ** 3);
  expect(() => readBoundedFile(path, 1024)).toThrow(expect.objectContaining({ code: "too-large" }));
});

test("what is no file is refused, and not waited for; what is not there is the system's to say", () => {
  execFileSync("mkfifo", [join(dir, "pipe")]);
  expect(() => readBoundedFile(join(dir, "pipe"), 10)).toThrow("is no file");
  expect(() => readBoundedFile(dir, 10)).toThrow("is no file");
  expect(() => readBoundedFile(join(dir, "none"), 10)).toThrow(expect.objectContaining({ code: "ENOENT" }));
});
