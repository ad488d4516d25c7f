/**
 * Who may read what of a control plane, by every way in: without a token, as a workload of the proxy's own namespace or of
 * another, and as one of the system's. Every path that is served has a row here, or the test fails.
 */
import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DiscoveryRequestSchema } from "../../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { types } from "../../src/model/index.ts";
import { createRpcClient, RpcError, status } from "../../src/rpc/index.ts";
import { askOnce, sotwMethod } from "../../src/xds/client/client.ts";
import { ask } from "../http/ask.ts";
import { lacks } from "../require.ts";
import { type Mesh, startMesh } from "./mesh.ts";
import { startFairlead } from "./planes.ts";
import { rootsOf, tokenOf } from "./proxy.ts";

/** `own`: also of proxies of the caller's own namespace. */
const readable: Readonly<Record<string, "own" | "system">> = {
  "": "system",
  adsz: "system",
  "adsz?push=true": "system",
  ambientz: "system",
  authorizationz: "system",
  ca: "system",
  cachez: "system",
  "cachez?clear=true": "system",
  "cachez?sizes=true": "system",
  causez: "system",
  clusterz: "system",
  config_dump: "own",
  configz: "system",
  connections: "system",
  diffz: "system",
  ecdsz: "system",
  edsz: "own",
  endpointShardz: "system",
  endpointz: "system",
  inject: "system",
  instancesz: "system",
  krtz: "system",
  list: "system",
  mcsz: "system",
  mesh: "system",
  ndsz: "own",
  networkz: "system",
  programmedz: "system",
  push_status: "system",
  pushcontext: "system",
  registryz: "system",
  resourcesz: "system",
  sidecarz: "system",
  syncz: "own",
  tapz: "system",
  telemetryz: "system",
  trafficz: "system",
  whyz: "system",
};

const callers = ["nobody", "same", "other", "system"] as const;
type Caller = (typeof callers)[number];
const namespaces: Readonly<Record<Caller, string>> = {
  ...{ nobody: "istio-system", same: "shop", other: "store", system: "istio-system" },
};
type Answers = Readonly<Record<Caller, number>>;

let mesh: Mesh | undefined;
const tokens = new Map<Caller, string>();
let roots = "";

const started = (): Mesh => {
  if (!mesh) throw new Error("not started");
  return mesh;
};

beforeAll(async () => {
  mesh = await startMesh(startFairlead);
  const { api } = mesh.pods;
  roots = await rootsOf(api, "shop");
  tokens.set("same", await tokenOf(api, { name: "reviews-v1-1", namespace: "shop", account: "reviews" }));
  tokens.set("other", await tokenOf(api, { name: "db-1", namespace: "store", account: "db" }));
  tokens.set("system", await tokenOf(api, { name: "istiod-1", namespace: "istio-system", account: "istiod" }));
});
afterAll(() => mesh?.close());

/** `tapz` is about requests of all, `whyz` about one that is named. */
const withProxy = (path: string): string =>
  path === "tapz"
    ? path
    : path === "whyz"
      ? "whyz?source=web-1.shop&destination=reviews"
      : `${path}${path.includes("?") ? "&" : "?"}proxyID=web-1.shop`;

/** By a name that is not this machine's: as from another one. */
async function overHttp(port: number, path: string, caller: Caller, method = "GET"): Promise<number> {
  const token = tokens.get(caller);
  const headers = {
    host: "istiod.istio-system.svc",
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  const answer = await ask(port, path, { method, headers, body: method === "PUT" ? "{}" : "" });
  // Let in, and asked for something that there is not.
  return answer.status === 404 ? 200 : answer.status;
}

/** gRPC's status, and how many resources there were. */
async function overXds(
  port: "grpc" | "secureGrpc",
  caller: Caller,
  typeUrl: string,
  names: readonly string[],
): Promise<string> {
  const token = tokens.get(caller);
  const rpc = createRpcClient({
    target: { host: "127.0.0.1", port: started().plane.ports[port] },
    ...(port === "grpc" ? {} : { tls: () => ({ ca: roots, serverName: "istiod.istio-system.svc" }) }),
    metadata: async (): Promise<Readonly<Record<string, string>>> =>
      token === undefined ? {} : { authorization: `Bearer ${token}` },
  });
  const node = {
    id: "sidecar~0.0.0.0~test-1.default~default.svc.cluster.local",
    metadata: { GENERATOR: "event", NAMESPACE: namespaces[caller] },
  };
  try {
    const { resources } = await askOnce(rpc, { typeUrl, names, node }, { timeoutMs: 20_000 });
    return `${resources.length} resources`;
  } catch (error) {
    // Let in, and asked for something that there is not.
    if (error instanceof RpcError && error.status === status.notFound) return "1 resources";
    return error instanceof RpcError ? `status ${error.status}` : String(error);
  } finally {
    rpc.close();
  }
}

async function forAll<T>(ask: (caller: Caller) => Promise<T>): Promise<Readonly<Record<Caller, T>>> {
  const answers = await Promise.all(callers.map(async (caller) => [caller, await ask(caller)] as const));
  return Object.fromEntries(answers) as Record<Caller, T>;
}

const http = (who: "own" | "system"): Answers => ({
  ...{ nobody: 401, same: who === "own" ? 200 : 403, other: 403, system: 200 },
});

test.skipIf(lacks("kubectl"))("every path that is served has a row", async () => {
  const { monitoring } = started().plane.ports;
  const served = (await (await fetch(`http://127.0.0.1:${monitoring}/debug/list`)).json()) as string[];
  expect(["", "list", ...served].sort()).toEqual(Object.keys(readable).sort());
});

test.skipIf(lacks("kubectl")).each(["monitoring", "http"] as const)("the debug paths at the %s port", async (name) => {
  const port = started().plane.ports[name];
  for (const [path, who] of Object.entries(readable))
    expect(await forAll((caller) => overHttp(port, `/debug/${withProxy(path)}`, caller)), path).toEqual(http(who));
});

test.skipIf(lacks("kubectl"))("the same over xDS, where a token is needed on every way", async () => {
  for (const [path, who] of Object.entries(readable).filter(([name]) => name !== "")) {
    const seen = await forAll((caller) => overXds("secureGrpc", caller, "istio.io/debug", [withProxy(path)]));
    const denied = "status 7";
    const same = who === "own" ? "1 resources" : denied;
    expect(seen, path).toEqual({ nobody: "status 16", same, other: denied, system: "1 resources" });
  }
  expect(await forAll((caller) => overXds("grpc", caller, "istio.io/debug", ["syncz"]))).toEqual({
    ...{ nobody: "status 16", same: "status 16", other: "status 16", system: "status 16" },
  });
});

test.skipIf(lacks("kubectl"))("the debug types: proxies of the caller's own namespace, or all", async () => {
  expect(await forAll((caller) => overXds("secureGrpc", caller, "istio.io/debug/syncz", []))).toEqual({
    ...{ nobody: "status 16", same: "3 resources", other: "0 resources", system: "4 resources" },
  });
  const dump = (caller: Caller) => overXds("secureGrpc", caller, "istio.io/debug/config_dump", ["web-1.shop"]);
  expect(await forAll(dump)).toEqual({
    ...{ nobody: "status 16", same: "5 resources", other: "0 resources", system: "5 resources" },
  });
  for (const typeUrl of ["istio.io/debug/syncz", "istio.io/debug/config_dump"])
    expect(new Set(Object.values(await forAll((caller) => overXds("grpc", caller, typeUrl, ["web-1.shop"]))))).toEqual(
      new Set(["status 16"]),
    );
});

test.skipIf(lacks("kubectl"))("ControlZ is for whoever may read everything", async () => {
  const { controlz } = started().plane.ports;
  for (const [method, path, done] of [
    ["GET", "/scopej/", 200],
    ["GET", "/versionj/", 200],
    ["PUT", "/scopej/ads", 202],
  ] as const)
    expect(await forAll((caller) => overHttp(controlz, path, caller, method)), `${method} ${path}`).toEqual({
      ...{ nobody: 401, same: 403, other: 403, system: done },
    });
});

test.skipIf(lacks("kubectl")).each(["api", "api/networking.istio.io/v1", "event", "mcp", "debug", "__proto__"])(
  "no generator serves objects: %s",
  async (GENERATOR) => {
    const rpc = createRpcClient({ target: { host: "127.0.0.1", port: started().plane.ports.grpc } });
    const stream = await rpc.stream(sotwMethod);
    const node = {
      id: "sidecar~10.0.0.9~any.shop~shop.svc.cluster.local",
      metadata: { GENERATOR, NAMESPACE: "shop", CLUSTER_ID: "Kubernetes" },
    };
    const objects = [
      "networking.istio.io/v1/VirtualService",
      "security.istio.io/v1/AuthorizationPolicy",
      "core/v1/Secret",
    ];
    for (const typeUrl of objects) await stream.send(create(DiscoveryRequestSchema, { node, typeUrl }));
    await stream.send(create(DiscoveryRequestSchema, { node, typeUrl: types.cluster }));
    const first = await stream.messages.next();
    // What was asked before it has no answer.
    expect(first.value?.typeUrl).toBe(types.cluster);
    stream.cancel();
    rpc.close();
  },
);
