/** A control plane on a real API: ControlZ shows and changes what it writes to its log, and `fairlead admin log` asks it. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Answer, ask as askHttp } from "../../test/http/ask.ts";
import { type ControlledApi, startControlledApi } from "../control-plane/controllers/testing.ts";
import type { Discovery } from "../control-plane/index.ts";
import { allowSecrets, startPlane } from "../control-plane/testing.ts";
import { createLogger, createLogScopes } from "../lib/index.ts";
import { runCli } from "./testing.ts";

const lines: string[] = [];
let [world, plane]: [ControlledApi | undefined, Discovery | undefined] = [undefined, undefined];
const free = { host: "127.0.0.1", port: 0 };
const addresses = { grpc: free, secureGrpc: free, monitoring: free, https: free, http: free, controlz: free };

beforeAll(async () => {
  const api = await startControlledApi();
  world = api;
  await allowSecrets(api);
  const logScopes = createLogScopes("default:warn,ca:error");
  const log = createLogger({ write: (line) => void lines.push(line), now: () => new Date(), scopes: logScopes });
  plane = await startPlane(api, { addresses, log, logScopes });
});
afterAll(async () => {
  await plane?.close();
  await world?.close();
});

const port = (): number => plane?.addresses.controlz?.port ?? 0;

const ask = (method: string, path: string, body = "", host = "localhost"): Promise<Answer> =>
  askHttp(port(), path, { method, body, headers: { host } });

const admin = (...args: string[]) => runCli(["admin", "log", "--address", `127.0.0.1:${port()}`, ...args]);

test("every scope of the control plane is listed, in istiod's shape, and says what it is about", async () => {
  const { status, text } = await ask("GET", "/scopej");
  expect(status).toBe(200);
  const scopes = JSON.parse(text) as { name: string; description: string }[];
  expect(scopes.find(({ name }) => name === "ads")).toEqual({
    ...{ name: "ads", description: expect.stringContaining("proxies") },
    ...{ output_level: "warn", stack_trace_level: "none", log_callers: false },
  });
  expect(scopes.find(({ name }) => name === "ca")).toMatchObject({ output_level: "error" });
  expect(scopes.filter(({ description }) => description === "").map(({ name }) => name)).toEqual([]);
  expect(scopes.map(({ name }) => name)).toEqual(scopes.map(({ name }) => name).sort());
  expect(await ask("GET", "/scopej/ads")).toMatchObject({ status: 200, text: expect.stringContaining('"warn"') });
});

test("a level that is changed holds at once, for its scope alone", async () => {
  const spec = { ports: [{ name: "http", port: 80 }] };
  const names = async (name: string): Promise<void> => {
    await world?.create({ apiVersion: "v1", kind: "Service", metadata: { name, namespace: "default" }, spec });
  };
  const seen = (name: string): readonly string[] => lines.filter((line) => line.includes(`default/${name}`));
  await names("before");
  const { host, port: at } = plane?.addresses.monitoring ?? free;
  const registry = async (): Promise<string> => (await fetch(`http://${host}:${at}/debug/registryz`)).text();
  await expect.poll(registry).toContain("before.default.svc");
  expect(await admin("--level", "kube:debug", "--stack-trace-level", "kube:none")).toMatchObject({ status: 0 });
  await names("after");
  await expect
    .poll(() => seen("after"))
    .toMatchObject([expect.stringMatching(/\tdebug\tkube\tfollowing services: ADDED/)]);
  expect(seen("before")).toEqual([]);
  expect(lines.filter((line) => line.includes("\tdebug\t") && !line.includes("\tkube\t"))).toEqual([]);
  expect((await admin("--stack-trace-level", "kube:debug")).status).toBe(0);
  await names("traced");
  await expect.poll(() => seen("traced")).toMatchObject([expect.stringMatching(/\tstack=.*http-source/)]);
  const listed = JSON.parse((await admin("-o", "json")).stdout) as object[];
  expect(listed).toContainEqual({
    ...{ scope_name: "kube", log_level: "debug", stack_trace_level: "debug" },
    description: expect.any(String),
  });
  expect((await admin("--reset")).status).toBe(0);
  const { stdout } = await admin();
  const [header, ...rows] = stdout.trimEnd().split("\n");
  expect(header).toMatch(/^ACTIVE SCOPE {3,}DESCRIPTION {3,}LOG LEVEL {3}STACK TRACE LEVEL$/);
  expect(new Set(rows.map((row) => row.replace(/^.* {3}(\w+) {3,}(\w+)$/, "$1 $2")))).toEqual(new Set(["info none"]));
});

test("what is no scope, level or body is refused, and changes nothing", async () => {
  expect(await ask("PUT", "/scopej/none", '{"output_level":"debug"}')).toMatchObject({
    ...{ status: 400, text: "unknown scope name: none" },
  });
  expect((await ask("PUT", "/scopej/ads", "no JSON")).status).toBe(400);
  expect((await ask("PUT", "/scopej/%zz", "{}")).status).toBe(400);
  expect((await ask("PUT", "/scopej/__proto__", "{}")).status).toBe(400);
  expect((await ask("DELETE", "/scopej/ads")).status).toBe(405);
  // As istiod: an unknown level leaves the level as it is.
  const { text: before } = await ask("GET", "/scopej/ads");
  expect((await ask("PUT", "/scopej/ads", '{"output_level":"loud"}')).status).toBe(202);
  expect((await ask("GET", "/scopej/ads")).text).toBe(before);
  expect((await ask("GET", "/versionj/")).text).toContain('"version"');
  expect((await ask("GET", "/envj/")).status).toBe(404);
  expect(await admin("--level", "ads")).toMatchObject({ status: 2, stderr: expect.stringContaining("ads:debug") });
  expect(await admin("--level", "none:debug")).toMatchObject({
    ...{ status: 1, stderr: expect.stringContaining("unknown scope name: none") },
  });
  expect((await admin("--level", "ads:debug", "--reset")).status).toBe(2);
});

test("a page that was led to loopback by another name is told nothing, and changes nothing", async () => {
  const { text: before } = await ask("GET", "/scopej/ads");
  expect(before).not.toContain('"output_level":"debug"');
  expect((await ask("GET", "/scopej/", "", "evil.example")).status).toBe(401);
  expect((await ask("PUT", "/scopej/ads", '{"output_level":"debug"}', "evil.example")).status).toBe(401);
  expect((await ask("GET", "/scopej/ads")).text).toBe(before);
});

test("a port that is taken keeps only ControlZ from being served", async () => {
  if (!world || !plane) throw new Error("not started");
  const told: string[] = [];
  const logScopes = createLogScopes();
  const second = await startPlane(world, {
    addresses: { ...addresses, controlz: { host: "127.0.0.1", port: port() } },
    ...{ identity: "istiod-second", logScopes },
    log: createLogger({ write: (line) => void told.push(line), now: () => new Date(), scopes: logScopes }),
  });
  await second.close();
  expect(second.addresses.controlz).toBeUndefined();
  expect(told.filter((line) => line.includes("ControlZ is not served"))).toHaveLength(1);
});
