/** `fairlead bug-report` and `fairlead logs` on a small mesh that is full of secrets. */
import { execFileSync } from "node:child_process";
import { appendFileSync, closeSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../src/cli/testing.ts";
import { createContainerLog } from "../../src/standalone/index.ts";
import { lacks } from "../require.ts";
import { type Mesh, startMesh } from "./mesh.ts";
import { startFairlead } from "./planes.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-report-"));
let mesh: Mesh | undefined;

/** Each in a place of its own. */
const secrets = {
  data: "hunter2-in-a-secret",
  applied: "hunter2-applied",
  env: "hunter2-in-env",
  url: "hunter2-in-a-url",
  word: "hunter2-in-a-log",
  token: "eyJhbGciOiJSUzI1NiJ9.eyJodW50ZXIyIjoiMSJ9.c2lnbmF0dXJl",
  key: "aHVudGVyMi1wcml2YXRlLWtleQ",
} as const;

beforeAll(async () => {
  mesh = await startMesh(startFairlead);
  const { pods } = mesh;
  const log = createContainerLog(join(dir, "db.log"), undefined);
  closeSync(log.open());
  appendFileSync(
    log.path,
    [
      "first line",
      `login with password=${secrets.word} failed`,
      `authorization: Bearer ${secrets.token}`,
      `-----BEGIN PRIVATE KEY-----\n${secrets.key}\n-----END PRIVATE KEY-----`,
      "last line\n",
    ].join("\n"),
  );
  await pods.serve("store", "db-1", { log: (container) => (container === "app" ? log : undefined) });
  const objects = [
    {
      ...{ apiVersion: "v1", kind: "Secret", metadata: { name: "db", namespace: "store" } },
      stringData: { password: secrets.data },
    },
    {
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "db", namespace: "store" } },
      data: { apiToken: secrets.env, url: `postgres://db:${secrets.url}@db.store`, plain: "shown-as-it-is" },
    },
  ];
  for (const object of objects) {
    const made = await pods.api.kubectl(
      "apply -f -",
      JSON.stringify(object).replace("hunter2-in-a-secret", secrets.applied),
    );
    expect(made.err).toBe("");
  }
});
afterAll(async () => {
  await mesh?.close();
  rmSync(dir, { recursive: true, force: true });
});

const kubeconfig = (): string => mesh?.pods.api.kubeconfig ?? "";

/** By path, from the archive on. */
function unpack(file: string): ReadonlyMap<string, string> {
  execFileSync("tar", ["xzf", file, "-C", dir]);
  const root = join(dir, "fairlead-bug-report");
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(join(root, name)).isFile(),
  );
  return new Map(names.map((name) => [name, readFileSync(join(root, name), "utf8")]));
}

test.skipIf(lacks("kubectl"))("one archive with what there is to know, and no secret", async () => {
  const file = join(dir, "report.tar.gz");
  const { status, stdout, stderr } = await runCli([
    "bug-report",
    "--kubeconfig",
    kubeconfig(),
    "-f",
    file,
    "--all-logs",
  ]);
  expect({ status, stdout }).toEqual({ status: 0, stdout: `${file}\n` });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const files = unpack(file);
  const text = [...files.values()].join("\n");
  // Not the whole text: a failure would print all of it.
  expect(Object.entries(secrets).filter(([, secret]) => text.includes(secret))).toEqual([]);
  expect(text.includes("shown-as-it-is")).toBe(true);
  for (const path of [
    "about.json",
    "objects/core/pods.yaml",
    "objects/networking.istio.io/virtualservices.yaml",
    "control-plane/istiod-1/syncz.json",
    "control-plane/istiod-1/proxies/web-1.shop.json",
    "logs/store/db-1/app.log",
  ])
    expect(files.has(path), path).toBe(true);
  expect(files.get("objects/core/secrets.yaml")).toContain("password: '[redacted]'");
  expect(files.get("logs/store/db-1/app.log")).toMatch(/first line\n.*password=\[redacted\] failed\n[\s\S]*last line/);
  expect(files.get("control-plane/istiod-1/proxies/web-1.shop.json")).toContain("outbound|9080||reviews.shop");
  // Pods that nobody here runs have no log, and that is said.
  expect(stderr).toContain("missing: log of shop/web-1 istio-proxy: ");
  expect(JSON.parse(files.get("about.json") ?? "{}")).toMatchObject({
    missing: expect.arrayContaining([expect.stringContaining("log of shop/web-1")]),
  });
});

test.skipIf(lacks("kubectl"))("logs of a Pod, by its name or what runs it, as they are", async () => {
  const logs = (...args: string[]) => runCli(["logs", "--kubeconfig", kubeconfig(), ...args]);
  expect((await logs("db-1", "-n", "store", "--tail", "1")).stdout).toBe("last line\n");
  expect((await logs("service/db.store", "-c", "app")).stdout).toMatch(/^first line\n/);
  expect(await logs("none", "-n", "store")).toMatchObject({ status: 1, stderr: expect.stringContaining("none") });
  expect(await logs("db-1", "-n", "store", "-c", "none")).toMatchObject({
    ...{ status: 1, stderr: expect.stringContaining("container none is not valid") },
  });
  expect((await logs("db-1", "--since", "soon")).status).toBe(2);
  expect((await logs("db-1", "--tail", "-1")).status).toBe(2);
});
