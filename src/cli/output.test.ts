/** One printer: every command that shows something has every form of it, and none lets a terminal be played with. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { load } from "js-yaml";
import { afterAll, describe, expect, test } from "vitest";
import { fixFor, selfExplaining } from "./analyze/fixes.ts";
import { parseOutput } from "./output.ts";
import { runCli } from "./testing.ts";
import { clientAndWeb } from "./why/testing.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-output-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const write = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

const service = `apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { clusterIP: 10.96.0.7, selector: { app: web }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
`;
const policy = `apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: deny, namespace: shop }
spec: { action: DENY, rules: [{ to: [{ operation: { paths: [/admin] } }] }] }
---
`;
const lost = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: lost, namespace: shop }
spec: { hosts: [web], gateways: [nowhere, mesh], http: [{ timeout: 5s, route: [{ destination: { host: web } }] }] }
---
`;
const wrong = lost.replace("http:", "htpp:");
const base = write("base.yaml", clientAndWeb + service + policy);

/** What each prints as `-o name`, and a template with what it gives. */
const commands: readonly (readonly [string, readonly string[], string, string, string])[] = [
  ["version", ["version"], "fairlead-0.1.0\n", "{.fairlead}", "0.1.0\n"],
  [
    "why",
    ["why", "-f", base, "client.shop", "web.shop/admin"],
    "AuthorizationPolicy/shop/deny\n",
    "{.verdict.status}",
    "403\n",
  ],
  [
    "diff",
    ["diff", "--base", base, "-f", write("lost.yaml", lost)],
    "client.shop\nweb.shop\n",
    "{.classes[0].count}",
    "2\n",
  ],
  ["describe", ["describe", "pod", "web.shop", "-f", base], "pod/web\n", "{.pod}", ""],
  [
    "validate",
    ["validate", "-f", write("wrong.yaml", wrong)],
    "VirtualService/shop/lost\n",
    "{.items[*].severity}",
    "error\n",
  ],
  [
    "analyze",
    ["analyze", "--use-kube=false", "-A", base, write("lost-too.yaml", lost)],
    "VirtualService shop/lost\n",
    '{.items[?(@.level=="Error")].code}',
    "IST0101\n",
  ],
];

describe.each(commands)("%s", (_name, args, names, template, value) => {
  const print = async (format: string): Promise<string> => (await runCli([...args, "-o", format], dir)).stdout;

  test("as name, JSON, YAML and by template", async () => {
    expect(await print("name")).toContain(names);
    const json: unknown = JSON.parse(await print("json"));
    expect(load(await print("yaml"))).toEqual(json);
    expect(await print(`jsonpath=${template}`)).toContain(value);
    const wide = await runCli([...args, "-o", "wide"], dir);
    expect(wide.stdout + wide.stderr).not.toBe("");
  });

  test("another form is refused before anything is read", async () => {
    const { status, stderr } = await runCli([...args, "-o", "xml"], dir);
    expect(stderr).toMatch(/^fairlead: -o xml is not known\n {2}\S/);
    expect(status).toBe(2);
  });
});

test("text that plays with terminals is shown by its escapes, and means the same", () => {
  const name = "a\u001b[2J\u202e\u009bb";
  const forms = { plain: () => "", data: () => [{ name }], names: () => [name] };
  const print = (format: string): string => parseOutput(format, "text")(forms);
  for (const format of ["name", "json", "yaml", "jsonpath={.items[*].name}", "custom-columns=N:.name"])
    expect(print(format), format).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u);
  expect(JSON.parse(print("json"))).toEqual([{ name }]);
  expect(load(print("yaml"))).toEqual([{ name }]);
});

test("a fix is shown to people, and not to programs that read istioctl's words", async () => {
  const args = ["analyze", "--use-kube=false", "-A", base, write("again.yaml", lost)];
  const plain = await runCli(args, dir);
  expect(plain.stdout).toMatch(/again\.yaml:\d+/);
  expect(plain.stderr).not.toContain("fix IST0101");
  const wide = await runCli([...args, "-o", "wide"], dir);
  expect(wide.stderr).toContain("  fix IST0101: create the object that is named");
  expect([plain.status, wide.status]).toEqual([79, 79]);
});

test("every code that is reported has a fix, or says itself what to do", () => {
  const folder = join(import.meta.dirname, "../config/analyze");
  const sources = readdirSync(folder).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && file !== "message.ts",
  );
  const codes = sources.flatMap(
    (file) => readFileSync(join(folder, file), "utf8").match(/\b(?:IST|FLD)\d{4}\b/g) ?? [],
  );
  const without = [...new Set(codes)].filter((code) => fixFor(code) === undefined && !selfExplaining.has(code));
  expect(without).toEqual([]);
});
