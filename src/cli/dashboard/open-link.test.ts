import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openLink } from "./open-link.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-open-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const link = "http://127.0.0.1:15015/#token=abc.def-_1";

test("a browser comes to the link, and no argument of any process has the token", async () => {
  const opener = join(dir, process.platform === "darwin" ? "open" : "xdg-open");
  // In one step, so that whoever waits for it finds it whole.
  writeFileSync(opener, `#!/bin/sh\necho "$@" > "${dir}/new" && mv "${dir}/new" "${dir}/arguments"\n`);
  chmodSync(opener, 0o755);
  const signal = new AbortController().signal;
  await openLink(link, dir, { env: { PATH: `${dir}:/bin:/usr/bin` }, cwd: dir, out() {}, err() {}, tty: true, signal });
  const read = (): string => {
    try {
      return readFileSync(join(dir, "arguments"), "utf8");
    } catch {
      return "";
    }
  };
  await expect.poll(read).not.toBe("");
  const file = read().trim();
  expect(file).not.toContain("abc.def");
  expect(readFileSync(file, "utf8")).toContain(`content="0;url=${link}"`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
