/** Words so far in, words that may follow out: through the hidden command, and through bash itself. */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { startApi, type TestApi } from "../apiserver/testing.ts";
import { runCli } from "./testing.ts";

const dir = mkdtempSync(join(tmpdir(), "fl-completion-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const nobody = { HOME: dir, FAIRLEAD_HOME: dir, KUBECONFIG: join(dir, "none") };
const complete = async (words: readonly string[], env: Readonly<Record<string, string>> = nobody) => {
  const { status, stdout, stderr } = await runCli(["__complete", "--", ...words], dir, 60_000, env);
  expect([status, stderr]).toEqual([0, ""]);
  return stdout.trimEnd().split("\n");
};

describe("words that may follow", () => {
  test.each([
    [["di"], ["diff", "discovery"]],
    [["diff", "--fail"], ["--fail-on"]],
    [
      ["diff", "-o", ""],
      ["custom-columns=", "json", "jsonpath=", "name", "text", "wide", "yaml"],
    ],
    [["proxy-config", "cl"], ["cluster"]],
    [["get", "virtuals"], ["virtualservices"]],
    [
      ["describe", ""],
      ["help", "pod", "service"],
    ],
    [["get", "pods", ""], [""]],
    [["nothing", "x"], [""]],
  ])("%j", async (words, expected) => {
    expect(await complete(words)).toEqual(expected);
  });

  test("what is only for programs is not among them", async () => {
    expect(await complete([""])).not.toContain("__complete");
    expect((await runCli(["--help"])).stdout).not.toContain("__complete");
  });
});

test("bash completes by the script", async () => {
  const { stdout } = await runCli(["completion", "bash"]);
  const stub = join(dir, "fairlead");
  writeFileSync(stub, "#!/bin/sh\nshift 2\nprintf '%s\\n' \"$#:$*:one\" two\n");
  chmodSync(stub, 0o755);
  const script = `${stdout}\nCOMP_WORDS=(fairlead get pods ""); COMP_CWORD=3; _fairlead; printf '%s;' "\${COMPREPLY[@]}"`;
  const out = execFileSync("bash", ["--norc", "--noprofile", "-c", script], {
    env: { PATH: `${dir}:${process.env.PATH ?? ""}` },
  }).toString();
  expect(out).toBe("3:get pods :one;two;");
  for (const shell of ["zsh", "fish"])
    expect((await runCli(["completion", shell])).stdout).toContain("fairlead __complete -- ");
  expect((await runCli(["completion", "tcsh"])).status).toBe(2);
});

test("--version and version say the same", async () => {
  const [flag, command] = [await runCli(["--version"]), await runCli(["version"])];
  expect(flag.status).toBe(0);
  expect(flag.stdout).toBe(command.stdout);
});

describe.skipIf(lacks("kubectl"))("on an API", () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startApi();
    const applied = await api.kubectl(
      "apply -f -",
      `apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Pod
metadata: { name: web-1, namespace: shop }
spec: { containers: [{ name: app, image: x }] }
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: web, namespace: shop }
spec: { host: web }
`,
    );
    expect([applied.code, applied.err]).toEqual([0, ""]);
  });
  afterAll(() => api.close());
  const env = () => ({ HOME: dir, KUBECONFIG: api.kubeconfig });

  test("names of live objects", async () => {
    expect(await complete(["get", "pods", "-n", "sh"], env())).toEqual(["shop"]);
    expect(await complete(["get", "dr", "-n", "shop", ""], env())).toEqual(["web"]);
    expect(await complete(["describe", "pod", "w"], env())).toEqual(["web-1.shop"]);
  });

  test("columns of one's own", async () => {
    const { stdout } = await runCli(
      ["get", "dr", "-n", "shop", "-o", "custom-columns=NAME:.metadata.name,HOST:.spec.host,X:.spec.none"],
      dir,
      60_000,
      env(),
    );
    const { out } = await api.kubectl(
      "get dr -n shop -o custom-columns=NAME:.metadata.name,HOST:.spec.host,X:.spec.none",
    );
    expect(stdout).toBe(`${out}\n`.replace(/\n\n$/, "\n"));
    expect((await runCli(["get", "dr", "-o", "custom-columns=NAME"], dir, 60_000, env())).status).toBe(2);
  });

  test("an editor changes an object; one that changes nothing, or fails, writes nothing", async () => {
    const edit = (editor: string) =>
      runCli(["edit", "dr/web", "-n", "shop"], dir, 60_000, { ...env(), PATH: process.env.PATH ?? "", EDITOR: editor });
    expect((await edit("true")).stderr).toContain("no changes made");
    expect((await edit("false")).stderr).toContain("nothing was written");
    const changed = await edit("sed -i 's/host: web/host: other/'");
    expect([changed.status, changed.stdout]).toEqual([0, "destinationrule/web edited\n"]);
    expect((await api.kubectl("get dr web -n shop -o jsonpath={.spec.host}")).out).toContain("other");
    const refused = await edit("sed -i 's/host: other/hots: other/'");
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain("hots");
  });

  test("a watch goes on with a row for each change", async () => {
    const { runProgram } = await import("./program.ts");
    const abort = new AbortController();
    const rows: string[] = [];
    const seen = (count: number) => expect.poll(() => rows.length).toBeGreaterThanOrEqual(count);
    const done = runProgram(["get", "dr", "-n", "shop", "-w"], {
      env: env(),
      cwd: dir,
      out: (text) => rows.push(...text.trimEnd().split("\n")),
      err: () => {},
      tty: false,
      signal: abort.signal,
    });
    await seen(2);
    expect(rows[0]).toMatch(/^NAME +HOST/);
    const patched = await api.kubectl(`patch dr web -n shop --type=merge -p '{"spec":{"host":"third"}}'`);
    expect(patched.code).toBe(0);
    await seen(3);
    expect(rows[2]).toMatch(/^web +third/);
    abort.abort();
    await done;
  });
});
