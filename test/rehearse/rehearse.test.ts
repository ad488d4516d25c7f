/** `rehearse` against a control plane that answers as istiod does: equal, different, and out of reach. */
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startApi, type TestApi } from "../../src/apiserver/testing.ts";
import { runCli } from "../../src/cli/testing.ts";
import { type ControlledApi, startControlledApi } from "../../src/control-plane/controllers/testing.ts";
import type { Discovery } from "../../src/control-plane/discovery.ts";
import { allowSecrets, connectProxy, type ScriptedProxy, startPlane } from "../../src/control-plane/testing.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { hostIstiod } from "./host-istiod.ts";
import { objects, podAddresses } from "./objects.ts";

let world: ControlledApi;
let plane: Discovery;
let proxies: readonly ScriptedProxy[] = [];
/** The same cluster but for one timeout. */
let other: TestApi;
const servers: Server[] = [];

beforeAll(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "fairlead-rehearse-"));
  world = await startControlledApi({ dataDir, podDir: join(dataDir, "run", "pods") });
  other = await startApi();
  await allowSecrets(world);
  for (const object of objects("5s")) await world.create(object);
  await fill(other, objects("7s"));
  for (const [name, podIP] of podAddresses)
    for (const api of [world.api, other]) {
      const status = { phase: "Running", podIP, podIPs: [{ ip: podIP }] };
      await api.call("PATCH", `/api/v1/namespaces/default/pods/${name}/status`, { status }, merge);
    }
  plane = await startPlane(world);
  proxies = await Promise.all(["client", "web-1"].map((pod) => connectProxy(plane, `${pod}.default`, ["80"])));
  await vi.waitFor(
    () => expect(proxies.map(({ responses }) => responses.get("RouteConfiguration"))).toEqual([1, 1]),
    120_000,
  );
});

afterAll(async () => {
  for (const proxy of proxies) proxy.close();
  for (const server of servers) server.close();
  world?.stop.abort();
  await plane?.close();
  await world?.close();
  await other?.close();
});

const merge = "application/merge-patch+json";

async function fill(api: TestApi, wanted: readonly KubeObject[]): Promise<void> {
  for (const object of wanted) {
    const { code, body } = await api.call("POST", pathOf(object), object);
    expect([code, body.message]).toEqual([201, undefined]);
  }
}

function pathOf({ apiVersion, kind, metadata }: KubeObject): string {
  const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const plural = kind === "AuthorizationPolicy" ? "authorizationpolicies" : `${kind.toLowerCase()}s`;
  return `${base}${metadata.namespace === undefined ? "" : `/namespaces/${metadata.namespace}`}/${plural}`;
}

const addressOf = ({ host, port }: { readonly host: string; readonly port: number }): string => `${host}:${port}`;
const xds = (): string => addressOf(plane.addresses.grpc);
const debug = (): string => addressOf(plane.addresses.monitoring);
const rehearse = (kubeconfig: string, ...flags: readonly string[]) =>
  runCli(["rehearse", "--kubeconfig", kubeconfig, ...flags]);

describe("all is equal", () => {
  test("asked over xDS as each Pod's proxy", async () => {
    const { status, stdout } = await rehearse(world.api.kubeconfig, "--xds", xds());
    expect(stdout).toMatch(/^equal: Fairlead would send what istiod sends \(2 proxies, \d{2,} different resources\)$/m);
    expect(status).toBe(0);
  });

  test("asked by the debug paths, for the proxies that are connected", async () => {
    const { status, stdout } = await rehearse(world.api.kubeconfig, "--address", debug(), "-o", "json");
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({ equal: true, proxies: 2, differences: [], istiod: [debug()] });
    expect(report.resources).toBeGreaterThan(10);
    expect(status).toBe(0);
  });

  test("the debug paths are reached through a port-forward to istiod's Pod", async () => {
    const host = await hostIstiod(world, plane);
    try {
      const { status, stdout, stderr } = await rehearse(world.api.kubeconfig, "-o", "json");
      expect(stderr).not.toContain("fairlead: ");
      expect(JSON.parse(stdout)).toMatchObject({ equal: true, proxies: 2, istiod: ["istio-system/istiod-1"] });
      expect(JSON.parse(stdout).notes).toContainEqual(expect.stringContaining("istiod runs with PILOT_HTTP10=false"));
      expect(status).toBe(0);
    } finally {
      await host.close();
    }
    const gone = await rehearse(world.api.kubeconfig);
    expect(gone.stderr).toMatch(/^fairlead: istiod at istio-system\/istiod-1 does not answer on its debug port: /m);
    expect(gone.status).toBe(2);
  });
});

describe("something differs", () => {
  test("it is told in words, for which proxies, with the object that made it and the field", async () => {
    const { status, stdout } = await rehearse(other.kubeconfig, "--xds", xds());
    expect(stdout).toMatch(/^different: 1 of what istiod sends would not be the same \(2 proxies, /);
    expect(stdout).toMatch(/^ {2}web: .*timeout.* for all 2 proxies$/m);
    expect(stdout).toMatch(/^ {6}2 {2}client\.default and 1 more: 1 route changed$/m);
    expect(stdout).toMatch(/^ {2}route 80, web\.default\.svc\.cluster\.local:80 \(2 proxies\)$/m);
    expect(stdout).toMatch(/^ {4}made from VirtualService\/default\/web spec\.http\[0\]/m);
    expect(stdout).toMatch(/^ {4}- virtualHosts\[.*\.route\.timeout: "5s"$/m);
    expect(stdout).toMatch(/^ {4}\+ virtualHosts\[.*\.route\.timeout: "7s"$/m);
    expect(status).toBe(1);
  });

  test("--fail-on looks only at what can hurt", async () => {
    const { status } = await rehearse(other.kubeconfig, "--xds", xds(), "--fail-on", "deny,mtls,lost-endpoint");
    expect(status).toBe(0);
  });

  test("what only one of the two would send is told apart", async () => {
    const file = `/apis/security.istio.io/v1/namespaces/default/authorizationpolicies/deny-admin`;
    await other.call("DELETE", file);
    const { stdout } = await rehearse(other.kubeconfig, "--address", debug(), "--proxy", "web-1.default", "-o", "json");
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({ equal: false, proxies: 1 });
    expect(report.differences.map(({ name }: { name: string }) => name)).toEqual(["virtualInbound", "80"]);
    const [inbound] = report.differences;
    expect(inbound.lines.some((line: string) => line.startsWith("- ") && line.includes("rbac"))).toBe(true);
  });
});

describe("what cannot be compared is one line of cause, with the hop, and one of remedy", () => {
  const silent = async (): Promise<string> => {
    const server = createServer(() => {}).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    const at = server.address();
    return `127.0.0.1:${typeof at === "object" && at ? at.port : 0}`;
  };
  const kubeconfig = (name: string, server: string, user: object): string => {
    const file = join(other.dir, name);
    const cluster = { server, "insecure-skip-tls-verify": true };
    const config = {
      ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
      clusters: [{ name: "c", cluster }],
      users: [{ name: "c", user }],
      contexts: [{ name: "c", context: { cluster: "c", user: "c" } }],
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  };
  const expectLines = ({ status, stdout, stderr }: Awaited<ReturnType<typeof runCli>>, cause: RegExp): void => {
    const told = stderr.replace(/^(?:reading|asked) .*\n/gm, "");
    expect(told).toMatch(cause);
    expect(told.trimEnd().split("\n")).toHaveLength(2);
    expect([status, stdout]).toEqual([2, ""]);
  };

  test("no istiod in the cluster", async () => {
    expectLines(await rehearse(other.kubeconfig), /^fairlead: no istiod runs in namespace istio-system$/m);
  });

  test("nobody listens where istiod should", async () => {
    const nobody = "127.0.0.1:1";
    expectLines(
      await rehearse(other.kubeconfig, "--xds", nobody),
      /^fairlead: istiod at 127\.0\.0\.1:1 does not answer over xDS/,
    );
    expectLines(
      await rehearse(other.kubeconfig, "--address", nobody),
      /^fairlead: istiod at 127\.0\.0\.1:1 does not answer on its debug port/,
    );
  });

  test("somebody listens and never answers", async () => {
    const at = await silent();
    const [overXds, debugPaths, api] = await Promise.all([
      rehearse(other.kubeconfig, "--xds", at),
      rehearse(other.kubeconfig, "--address", at),
      rehearse(kubeconfig("silent", `https://${at}`, {}), "--xds", at),
    ]);
    expectLines(overXds, /^fairlead: istiod at \S+ does not answer over xDS/);
    expectLines(debugPaths, /^fairlead: istiod at \S+ does not answer on its debug port: no answer within 5 s$/m);
    expectLines(api, /^fairlead: the API at \S+ gave no answer within 5 s$/m);
  });

  test("a token that has expired, an account without rights, another context", async () => {
    const { server } = other;
    const url = `https://${server.address}`;
    expectLines(await rehearse(kubeconfig("expired", url, { token: "old" })), /Unauthorized/);
    const stranger = { user: "stranger", groups: ["strangers"] };
    const file = join(other.dir, "stranger");
    await server.writeKubeconfig(file, stranger);
    expectLines(await rehearse(file), /^fairlead: GET \S+: .*cannot list/);
    expectLines(await rehearse(other.kubeconfig, "--context", "nowhere"), /nowhere/);
  });
});
