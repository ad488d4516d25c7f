/** Every command × every mistake of the places it asks and the files it reads: a line of cause, one of remedy, soon, and no stack. */
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApi, type TestApi } from "../apiserver/testing.ts";
import { commands } from "./commands.ts";
import { type Outcome, runCli } from "./testing.ts";

interface Ways {
  /** Asks an API: with its flags for a kubeconfig. */
  readonly api?: readonly (readonly string[])[];
  /** Asks a control plane at this address. */
  readonly plane?: (address: string) => readonly string[];
  /** Reads objects from this file. */
  readonly objects?: (file: string) => readonly string[];
  /** Reads another thing from this file. */
  readonly file?: (file: string) => readonly string[];
  /** Names a proxy that nobody knows; offline, from these objects. */
  readonly proxy?: (objects: string) => readonly string[];
}

/** A command without a row, or with a wrong one, fails below. Those that serve have mistakes of their own, tested with them. */
const ways: Readonly<Record<string, Ways | "serves" | "asks nobody">> = {
  up: "serves",
  down: "asks nobody",
  backup: { file: (file) => ["backup", "--data", file, "/dev/null"] },
  restore: { file: (file) => ["restore", file, "--data", `${file}-restored`] },
  run: "serves",
  apply: {
    api: [["apply", "-f", "OBJECTS"]],
    objects: (file) => ["apply", "--kubeconfig", "KUBECONFIG", "-f", file],
  },
  get: {
    api: [
      ["get", "pods"],
      ["get", "vs", "-A", "--affects"],
      ["get", "pods", "-w"],
    ],
  },
  edit: { api: [["edit", "configmap", "x"]] },
  delete: {
    api: [["delete", "pod", "x"]],
    objects: (file) => ["delete", "--kubeconfig", "KUBECONFIG", "-f", file],
  },
  render: {
    objects: (file) => ["render", "-f", file, "--proxy", "x.y"],
    file: (file) => ["render", "-f", "OBJECTS", "--mesh-config", file, "--proxy", "x.y"],
    proxy: (objects) => ["render", "-f", objects, "--proxy", "nobody.shop"],
  },
  dashboard: "serves",
  why: {
    api: [["why", "a", "b"]],
    plane: (address) => ["why", "a", "b", "--address", address],
    objects: (file) => ["why", "-f", file, "a", "b"],
    proxy: (objects) => ["why", "-f", objects, "nobody.shop", "web"],
  },
  describe: {
    api: [
      ["describe", "pod", "x"],
      ["describe", "service", "x"],
    ],
    objects: (file) => ["describe", "pod", "x", "-f", file],
    proxy: (objects) => ["describe", "pod", "nobody.shop", "-f", objects],
  },
  diff: {
    api: [["diff", "-f", "OBJECTS"]],
    plane: (address) => ["diff", "-f", "OBJECTS", "--address", address],
    objects: (file) => ["diff", "--base", "OBJECTS", "-f", file],
    proxy: (objects) => ["diff", "--base", objects, "-f", objects, "--proxy", "nobody.shop"],
  },
  rehearse: {
    api: [["rehearse"]],
    plane: (address) => ["rehearse", "--kubeconfig", "KUBECONFIG", "--address", address],
  },
  wait: { api: [["wait", "vs/x", "--timeout", "3s"]] },
  test: { file: (file) => ["test", file] },
  discovery: "serves",
  api: "serves",
  edge: "serves",
  agent: "serves",
  iptables: "asks nobody",
  ca: { api: [["ca", "rotate-root", "--timeout", "3s"]], plane: (address) => ["ca", "status", "--address", address] },
  workload: {
    api: [["workload", "entry", "configure", "-f", "GROUP", "-o", "FOLDER"]],
    file: (file) => ["workload", "entry", "configure", "-f", file, "-o", "FOLDER"],
  },
  stat: { api: [["stat"]], plane: (address) => ["stat", "--address", address] },
  top: { api: [["top"]], plane: (address) => ["top", "--address", address] },
  tap: { api: [["tap"]], plane: (address) => ["tap", "--address", address] },
  "proxy-status": {
    api: [["proxy-status"]],
    plane: (address) => ["proxy-status", "--address", address],
  },
  "proxy-config": {
    api: [
      ["proxy-config", "cluster", "x"],
      ["proxy-config", "log", "x"],
      ["proxy-config", "rootca-compare", "x", "y"],
    ],
    file: (file) => ["proxy-config", "all", "-f", file],
  },
  admin: { plane: (address) => ["admin", "log", "--address", address] },
  "ztunnel-config": { file: (file) => ["ztunnel-config", "all", "-f", file] },
  analyze: { api: [["analyze"]], objects: (file) => ["analyze", "--use-kube=false", file] },
  validate: { objects: (file) => ["validate", "-f", file] },
  install: { api: [["install", "-y"]], file: (file) => ["install", "-y", "--kubeconfig", "KUBECONFIG", "-f", file] },
  upgrade: { api: [["upgrade", "-y"]] },
  uninstall: { api: [["uninstall", "-y", "--purge"]] },
  tag: {
    api: [
      ["tag", "list"],
      ["tag", "set", "prod", "--revision", "x"],
      ["tag", "remove", "prod"],
    ],
  },
  manifest: { file: (file) => ["manifest", "generate", "-f", file] },
  "kube-inject": { objects: (file) => ["kube-inject", "-f", file] },
  check: { api: [["check"]], file: (file) => ["check", "--data", file] },
  logs: { api: [["logs", "pod-x"]] },
  "bug-report": { api: [["bug-report", "-f", "REPORT"]] },
  completion: "asks nobody",
  version: "asks nobody",
};

const dir = mkdtempSync(join(tmpdir(), "fairlead-matrix-"));
const write = (name: string, content: string | Buffer): string => {
  writeFileSync(join(dir, name), content);
  return join(dir, name);
};
const objects = write(
  "objects.yaml",
  "apiVersion: v1\nkind: Pod\nmetadata: { name: web, namespace: shop }\nspec: { containers: [{ name: istio-proxy }] }\nstatus: { phase: Running, podIP: 10.0.0.1 }\n",
);
const group = write(
  "group.txt",
  "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: { name: vm, namespace: shop }\nspec: { template: { serviceAccount: vm } }\n",
);
mkdirSync(join(dir, "home"));

/** Ends an alias in nine times nine times nine copies of a list. */
const aliases = `a: &a [x,x,x,x,x,x,x,x,x]\n${["b", "c", "d", "e", "f", "g", "h", "i"]
  .map((name, i) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[i]}`).join(",")}]`)
  .join("\n")}\n`;

const files: Readonly<Record<string, string>> = {
  "that is not there": join(dir, "none.yaml"),
  "of binary junk": write("junk.yaml", Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 7919) % 256))),
  "of 1,000 levels": write(
    "deep.yaml",
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: ${"[".repeat(1000)}${"]".repeat(1000)}\n`,
  ),
  "of 1,000 levels of JSON": write("deep.json", `${'{"a":'.repeat(1000)}1${"}".repeat(1000)}`),
  "of aliases that grow": write("aliases.yaml", aliases),
  "that plays with terminals": write("hostile.yaml", 'apiVersion: v1\nkind: "P\\e[2J\\u202E"\nmetadata: {name: [}\n'),
  "that is a folder": dir,
};

let api: TestApi;
const silent: Server[] = [];
/** By what is wrong with it. */
let kubeconfigs: Readonly<Record<string, readonly string[]>> = {};
/** These take connections and never say a word. */
let silentApi: readonly string[] = [];
let silentPlane = "";

beforeAll(async () => {
  api = await startApi();
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  silent.push(server);
  await once(server, "listening");
  const at = server.address();
  const nobodyAnswers = `127.0.0.1:${typeof at === "object" && at ? at.port : 0}`;
  const config = (name: string, address: string, user: object): string =>
    write(
      name,
      JSON.stringify({
        ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
        clusters: [{ name: "c", cluster: { server: `https://${address}`, "insecure-skip-tls-verify": true } }],
        users: [{ name: "c", user }],
        contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
      }),
    );
  kubeconfigs = {
    "no API": [],
    "a kubeconfig that is not there": ["--kubeconfig", join(dir, "none")],
    "a kubeconfig of junk": ["--kubeconfig", files["of binary junk"] ?? ""],
    "another context": ["--kubeconfig", api.kubeconfig, "--context", "nowhere\u001b[2J"],
    "an expired token": ["--kubeconfig", config("expired", String(api.server.address), { token: "old" })],
    "an API that is down": ["--kubeconfig", config("down", "127.0.0.1:1", {})],
  };
  silentApi = ["--kubeconfig", config("silent", nobodyAnswers, {})];
  silentPlane = nobodyAnswers;
});

afterAll(async () => {
  for (const server of silent) server.close();
  await api?.close();
  rmSync(dir, { recursive: true, force: true });
});

const filled = (args: readonly string[]): readonly string[] => {
  const words = new Map([
    ["OBJECTS", objects],
    ["GROUP", group],
    ["KUBECONFIG", api.kubeconfig],
    ["FOLDER", join(dir, "out")],
    ["REPORT", join(dir, "report.tar.gz")],
  ]);
  return args.map((arg) => words.get(arg) ?? arg);
};

/** Each step has five seconds of its own; this is only for what would never end. */
const run = (args: readonly string[]): Promise<Outcome> =>
  runCli(filled(args), dir, 40_000, { HOME: join(dir, "home"), XDG_DATA_HOME: join(dir, "home"), EDITOR: "true" });

/** Nothing that a terminal would act on. */
function expectPlain(told: string, where: string): void {
  expect(told, where).not.toMatch(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/u);
}

function expectTold(
  { status, stdout, stderr }: Outcome,
  args: readonly string[],
  allowed: readonly number[] = [],
): void {
  const told = `${stdout}${stderr}`;
  const where = `${args.join(" ")} → ${status}\n${told}`;
  expect([1, 2, ...allowed], where).toContain(status);
  // The report of a check is its answer.
  expect(args[0] === "check" ? told : stderr, where).not.toBe("");
  expect(told, where).not.toMatch(/^\s+at \S+.*:\d+/m);
  expect(told, where).not.toMatch(/\[object Object\]|undefined:|internal error/);
  expectPlain(told, where);
  const lines = stderr
    .trimEnd()
    .split("\n")
    .filter((line) => line.trim() !== "");
  // Of a folder each file is told.
  expect(lines.length, where).toBeLessThanOrEqual(args.includes(dir) ? 40 : 6);
  expect(Math.max(...lines.map((line) => line.length)), where).toBeLessThanOrEqual(600);
}

test("every command has a row", () => {
  expect(Object.keys(ways).sort()).toEqual(commands.map(({ name }) => name).sort());
});

const rows = Object.entries(ways).flatMap(([name, way]) => (typeof way === "string" ? [] : [[name, way] as const]));

const hostile = "a\\e[2J\\u202E\\u009Bb";
const hostileObjects = write(
  "hostile-names.yaml",
  [
    `apiVersion: v1\nkind: Pod\nmetadata: { name: "${hostile}", namespace: shop, labels: { app: "${hostile}" } }\nspec: { containers: [{ name: istio-proxy }] }\nstatus: { phase: Running, podIP: 10.0.0.1 }`,
    `apiVersion: v1\nkind: Service\nmetadata: { name: web, namespace: shop }\nspec: { clusterIP: 10.96.0.1, selector: { app: "${hostile}" }, ports: [{ name: http, port: 80 }] }`,
    `apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: { name: "${hostile}", namespace: shop }\nspec: { hosts: [web, "${hostile}"], gateways: ["${hostile}", mesh], http: [{ name: "${hostile}", route: [{ destination: { host: "${hostile}" } }] }] }`,
    `apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: { name: "${hostile}", namespace: shop }\nspec: { action: DENY, rules: [{ to: [{ operation: { paths: ["/${hostile}"] } }] }] }`,
  ].join("\n---\n"),
);

test("names that play with terminals are shown by their escapes", async () => {
  const own: readonly (readonly string[])[] = [
    ["why", "-f", hostileObjects, "web.shop", "web.shop/x"],
    ["describe", "service", "web.shop", "-f", hostileObjects],
    ["diff", "--base", objects, "-f", hostileObjects, "--resources"],
    ["render", "-f", hostileObjects, "--proxy", "x.shop"],
    ["analyze", "--use-kube=false", "-A", hostileObjects],
    ["validate", "-f", hostileObjects],
    ["apply", "--kubeconfig", "KUBECONFIG", "-f", hostileObjects],
    ["delete", "--kubeconfig", "KUBECONFIG", "-f", hostileObjects],
    ["kube-inject", "-f", hostileObjects],
  ];
  for (const args of own)
    for (const format of args[0] === "apply" || args[0] === "delete" || args[0] === "kube-inject"
      ? [[]]
      : [[], ["-o", "json"], ["-o", "yaml"]]) {
      const { stdout, stderr, status } = await run([...args, ...format]);
      const where = `${[...args, ...format].join(" ")} → ${status}\n${JSON.stringify(`${stdout}${stderr}`)}`;
      expect(`${stdout}${stderr}`, where).not.toBe("");
      expectPlain(`${stdout}${stderr}`, where);
    }
});

/** All at once, since each waits for as long as it may. */
test("an API and a control plane that are silent", async () => {
  const apis = rows.flatMap(([, { api: asksApi = [] }]) => asksApi.map((args) => [...args, ...silentApi]));
  const planes = rows.flatMap(([, { plane }]) => (plane ? [plane(silentPlane)] : []));
  await Promise.all([
    ...apis.map(async (args) => {
      const outcome = await run(args);
      expectTold(outcome, args);
      expect(`${outcome.stdout}${outcome.stderr}`, args.join(" ")).toMatch(/127\.0\.0\.1.* within [1-5] s/);
    }),
    ...planes.map(async (args) => expectTold(await run(args), args)),
  ]);
});

describe.each(rows)("%s", (name, { api: asksApi, plane, objects: readsObjects, file: readsFile, proxy }) => {
  /** As istioctl's analyze. */
  const allowed = name === "analyze" ? [65, 79] : [];

  if (asksApi)
    test("an API that cannot be asked", async () => {
      await Promise.all(
        Object.entries(kubeconfigs).flatMap(([, flags]) =>
          asksApi.map(async (args) => expectTold(await run([...args, ...flags]), [...args, ...flags])),
        ),
      );
    });

  if (plane)
    test("a control plane that is down", async () => {
      const args = plane("127.0.0.1:1");
      expectTold(await run(args), args);
    });

  const reads = [readsObjects, readsFile].filter((way) => way !== undefined);
  if (reads.length > 0)
    test.each(Object.keys(files))("a file %s", async (what) => {
      for (const way of reads) {
        const args = way(files[what] ?? "");
        const outcome = await run(args);
        expectTold(outcome, args, allowed);
      }
    });

  if (proxy) test("a proxy that nobody knows", async () => expectTold(await run(proxy(objects)), proxy(objects)));
});
