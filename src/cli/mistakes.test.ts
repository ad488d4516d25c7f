/** Users' mistakes: told by name and place, and none hides another. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApi, type TestApi } from "../apiserver/testing.ts";
import { commands } from "./commands.ts";
import { runCli } from "./testing.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-mistakes-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const write = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};
const rule = (more: string): string => `
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: web, namespace: default}
spec:
  host: web
  ${more}
`;

test("validate goes on past a file that cannot be read", async () => {
  const unreadable = write("a.yaml", "kind: [");
  const wrong = write("b.yaml", rule("trafficPolicy: {loadBalancer: {simple: NEAREST}}"));
  const { status, stderr } = await runCli(["validate", "-f", dir]);
  expect(stderr).toContain("Error: 2 errors occurred:");
  expect(stderr).toContain(`* ${unreadable}: ${unreadable}: not YAML`);
  expect(stderr).toContain("* DestinationRule/default/web: ");
  expect(status).toBe(1);
  const listed: readonly { file: string }[] = JSON.parse((await runCli(["validate", "-f", dir, "-o", "json"])).stdout);
  expect(listed.map(({ file }) => file).sort()).toEqual([unreadable, wrong]);
  const nowhere = join(dir, "c.yaml");
  symlinkSync(join(dir, "none"), nowhere);
  const third = await runCli(["validate", "-f", dir]);
  rmSync(nowhere);
  expect(third.stderr).toContain("Error: 3 errors occurred:");
  expect(third.stderr).toContain(`* ${nowhere}: ENOENT`);
});

test("validate and analyze warn of fields that Envoy's messages do not have, as istioctl does", async () => {
  const typos = [
    ["CLUSTER", "{outlier_detection: {consecutiv: 3}}"],
    [
      "HTTP_FILTER",
      '{name: x, typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua, cod: x}}',
    ],
    ["BOOTSTRAP", "{stats_flush: 3s}"],
  ].map(([applyTo, value]) => `  - {applyTo: ${applyTo}, patch: {operation: MERGE, value: ${value}}}`);
  const file = write(
    "filter.yaml",
    `apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {name: f, namespace: default}\nspec:\n  configPatches:\n${typos.join("\n")}\n`,
  );
  const lua = "envoy.extensions.filters.http.lua.v3.Lua";
  const warnings = [
    'Envoy filter: unknown field "consecutiv" in envoy.config.cluster.v3.OutlierDetection',
    `Envoy filter: can't unmarshal Any nested proto type.googleapis.com/${lua}: unknown field "cod" in ${lua}`,
    'Envoy filter: unknown field "stats_flush" in envoy.config.bootstrap.v3.Bootstrap',
  ];
  const validated = await runCli(["validate", "-f", file]);
  const analyzed = await runCli(["analyze", "--use-kube=false", file]);
  for (const warning of warnings) {
    expect(validated.stderr).toContain(warning);
    expect(analyzed.stdout).toContain(warning);
  }
  expect(validated.status).toBe(0);
});

describe("apply", () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startApi();
  });
  afterAll(() => api.close());

  test("refuses fields that the kind does not have, as kubectl does", async () => {
    const file = write("typo.yaml", rule("subset: [{name: v1}]"));
    const typo = await runCli(["apply", "--kubeconfig", api.kubeconfig, "-f", file]);
    expect(typo.stderr).toContain('unknown field "spec.subset"');
    expect(typo.status).toBe(1);
    writeFileSync(file, rule("subsets: [{name: v1}]"));
    expect((await runCli(["apply", "--kubeconfig", api.kubeconfig, "-f", file])).stdout).toContain("applied");
  });

  test("goes on past a file that cannot be read, and says what the API warns of", async () => {
    const folder = mkdtempSync(join(dir, "some-"));
    writeFileSync(join(folder, "a.yaml"), "kind: [");
    writeFileSync(join(folder, "b.yaml"), rule("subsets: [{name: v2}]"));
    writeFileSync(
      join(folder, "c.yaml"),
      "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: web, namespace: default}\nspec: {podSelector: {}}\n",
    );
    const { status, stdout, stderr } = await runCli(["apply", "--kubeconfig", api.kubeconfig, "-f", folder]);
    expect(stdout).toBe("destinationrule/web applied\nnetworkpolicy/web applied\n");
    expect(stderr).toContain(`${join(folder, "a.yaml")}: not YAML`);
    expect(stderr).toMatch(/^Warning: NetworkPolicy is stored, but not enforced here/m);
    expect(status).toBe(1);
  });
});

test("proxy-status asks the mesh whose kubeconfig is exported", async () => {
  const asked: string[] = [];
  const plane = createServer((request, answer) => {
    asked.push(request.url ?? "");
    answer.end("[]");
  }).listen(0, "127.0.0.1");
  await once(plane, "listening");
  const address = plane.address();
  const port = typeof address === "object" ? address?.port : 0;
  write("addresses.json", JSON.stringify({ monitoring: `127.0.0.1:${port}` }));
  const env = { KUBECONFIG: join(dir, "kubeconfig"), HOME: dir };
  const { status, stderr } = await runCli(["ps"], undefined, undefined, env);
  plane.close();
  expect(stderr).toBe("no proxy is connected\n");
  expect(status).toBe(0);
  expect(asked).toEqual(["/debug/syncz"]);
});

test("a mesh that runs here is not asked where KUBECONFIG names another API", async () => {
  const home = join(dir, "of-another");
  const data = join(home, "fairlead");
  mkdirSync(data, { recursive: true });
  writeFileSync(join(data, "addresses.json"), JSON.stringify({ monitoring: "127.0.0.1:1" }));
  const env = { HOME: home, XDG_DATA_HOME: home, KUBECONFIG: join(home, "of-a-cluster") };
  for (const command of ["ps", "stat", "check"]) {
    const { status, stderr } = await runCli([command], undefined, undefined, env);
    expect([command, status, stderr]).toEqual([command, 1, expect.stringContaining(env.KUBECONFIG)]);
  }
  const { stderr } = await runCli(["ps"], undefined, undefined, { ...env, KUBECONFIG: "" });
  expect(stderr).toContain("the control plane at 127.0.0.1:1 does not answer");
});

test.each(commands.map(({ name }) => name))("the options of %s fit on 60 columns", async (name) => {
  const { stdout } = await runCli([name, "--help"], undefined, undefined, { COLUMNS: "60" });
  const [, options = ""] = /\nOptions:\n([\s\S]*?)(?:\n\n|$)/.exec(stdout) ?? [];
  const tooLong = options.split("\n").filter((line) => line.length > 60 && /\s\S+\s\S+$/.test(line.slice(60)));
  expect(tooLong).toEqual([]);
  // Sentences do too; commands to copy stay whole.
  const prose = stdout.split("\n").filter((line) => /^\S/.test(line));
  expect(prose.filter((line) => line.length > 60)).toEqual([]);
});
