import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runProgram } from "./program.ts";
import { runCli } from "./testing.ts";

const work = mkdtempSync(join(tmpdir(), "fairlead-render-"));
afterAll(() => rmSync(work, { recursive: true, force: true }));

const pod = (name: string, namespace: string) =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace },
    spec: { containers: [{ name: "istio-proxy", image: "x", args: ["proxy", "sidecar"] }] },
    status: { podIP: "10.0.0.1" },
  });

test.each([
  ["../victim", "x"],
  ["a", "/../../victim.x"],
  ["a/../../victim", "x"],
])("a Pod named %s in namespace %s cannot lead out of --out", async (name, namespace) => {
  const victim = join(work, "victim.x");
  mkdirSync(victim, { recursive: true });
  writeFileSync(join(victim, "precious"), "");
  writeFileSync(join(work, "pod.json"), pod(name, namespace));
  let err = "";
  const status = await runProgram(["render", "-f", join(work, "pod.json"), "--all", "--out", join(work, "out")], {
    env: {},
    cwd: work,
    out: () => {},
    err: (text) => {
      err += text;
    },
    tty: false,
    signal: new AbortController().signal,
  });
  expect(status).toBe(1);
  expect(err).toContain("the name cannot be that of a folder");
  expect(readdirSync(victim)).toEqual(["precious"]);
  expect(existsSync(join(work, "out"))).toBe(false);
});

test("files without Pods render: a Pod stands for each Service, or for each Deployment where there are some", async () => {
  const bookinfo = join(import.meta.dirname, "../../demo/config/bookinfo.yaml");
  const page = await runCli(["render", "-f", bookinfo, "--proxy", "productpage.default", "-o", "summary"]);
  expect(page.stderr).toContain("note: no Pod is among the files; productpage.default stands for its Service\n");
  expect(page.stdout).toContain("outbound|9080||reviews.default.svc.cluster.local\n");
  expect(page.stdout).toContain("inbound|9080||\n");
  const gateway = await runCli([
    "render",
    "-f",
    bookinfo,
    "--proxy",
    "istio-ingressgateway.istio-system",
    "-o",
    "summary",
  ]);
  expect(gateway.stdout).toContain("  http.8080\n");
  expect(gateway.stdout).not.toContain("inbound|");
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "edge", namespace: "istio-system" },
    spec: { template: { metadata: { labels: { istio: "ingressgateway" } }, spec: { serviceAccountName: "edge" } } },
  };
  writeFileSync(join(work, "deployment.json"), JSON.stringify(deployment));
  const files = ["-f", bookinfo, "-f", join(work, "deployment.json")];
  const edge = await runCli(["render", ...files, "--proxy", "edge.istio-system", "-o", "summary"]);
  expect(edge.stdout).toContain("  http.8080\n");
  const unknown = await runCli(["render", ...files, "--proxy", "productpage.default"]);
  expect(unknown.stderr).toContain("there is edge.istio-system");
});

test("the pull secret of a Wasm module is printed nowhere, and is in a file for its owner alone", async () => {
  const plugin = {
    apiVersion: "extensions.istio.io/v1alpha1",
    kind: "WasmPlugin",
    metadata: { name: "p", namespace: "default" },
    spec: { url: "oci://registry/filter:1", imagePullSecret: "pull" },
  };
  const docker = (password: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "pull", namespace: "default" },
    type: "kubernetes.io/dockerconfigjson",
    stringData: { ".dockerconfigjson": JSON.stringify({ auths: { registry: { auth: password } } }) },
  });
  const [before, after] = ["before", "after"].map((name) => join(work, `${name}.json`));
  const list = (password: string) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: [JSON.parse(pod("a", "default")), plugin, docker(password)],
    });
  writeFileSync(before ?? "", list("hunter2"));
  writeFileSync(after ?? "", list("hunter3"));
  const files = ["-f", before ?? ""];
  for (const output of ["json", "yaml"]) {
    const printed = await runCli(["render", ...files, "--proxy", "a.default", "-o", output]);
    expect(printed.stdout).toMatch(/ISTIO_META_WASM_IMAGE_PULL_SECRET.*\[redacted\]/);
    expect(printed.stdout + printed.stderr).not.toContain("hunter2");
  }
  const out = join(work, "plugin");
  await runCli(["render", ...files, "--proxy", "a.default", "--out", out]);
  const file = join(out, "a.default", "ecds.json");
  expect(readFileSync(file, "utf8")).toContain("hunter2");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const diff = await runCli(["diff", "--base", before ?? "", "-f", after ?? "", "--resources"]);
  expect(diff).toMatchObject({ status: 1, stdout: expect.stringContaining("extension") });
  expect(diff.stdout + diff.stderr).not.toContain("hunter");
});
