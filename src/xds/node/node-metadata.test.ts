import { randomUUID } from "node:crypto";
import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { afterEach, expect, test } from "vitest";
import { AggregatedDiscoveryService } from "../../gen/envoy/service/discovery/v3/ads_pb.js";
import { DiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { createRpcClient, createRpcServer, protoMethod, type RpcClient, RpcError, status } from "../../rpc/index.ts";
import { createAds } from "../server/ads.ts";
import { createMemorySource, resource } from "../testing.ts";
import { typedKeys } from "./node-metadata.ts";

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of open.splice(0).reverse()) await end();
});

const method = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);

async function start(): Promise<RpcClient> {
  const source = createMemorySource();
  source.set({ [types.cluster]: [resource("a", "a")] });
  const ads = createAds({
    ...{ source, identifier: "test", ready: () => true, log: silentLogger, now: () => new Date(), uuid: randomUUID },
  });
  const server = createRpcServer({ routes: ads.routes(() => undefined), log: silentLogger });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  open.push(() => server.close());
  const client = createRpcClient({ target: { host: "127.0.0.1", port } });
  open.push(() => client.close());
  return client;
}

/** Undefined where config came. */
async function refusal(client: RpcClient, metadata: JsonObject): Promise<number | undefined> {
  const stream = await client.stream(method);
  const node = { id: "sidecar~10.0.0.1~pod.default~default.svc.cluster.local", metadata };
  await stream.send(create(DiscoveryRequestSchema, { node, typeUrl: types.cluster }));
  try {
    await stream.messages.next();
    return undefined;
  } catch (error) {
    if (error instanceof RpcError) return error.status;
    throw error;
  } finally {
    stream.cancel();
  }
}

const deep = (depth: number): JsonObject => (depth === 0 ? {} : { a: deep(depth - 1) });
const values: Record<string, JsonValue> = {
  null: null,
  number: 1,
  string: "text",
  array: ["text", 1],
  object: { a: 1 },
  deep: deep(20),
};

test("R26: every typed key with a value of every kind is served or refused, and the server lives on", async () => {
  const client = await start();
  const served: Record<string, number> = {};
  for (const key of typedKeys)
    for (const [kind, value] of Object.entries(values)) {
      const code = await refusal(client, { [key]: value });
      expect([undefined, status.invalidArgument], `${key} with ${kind}`).toContain(code);
      if (code === undefined) served[kind] = (served[kind] ?? 0) + 1;
    }
  expect(typedKeys.length).toBeGreaterThan(50);
  // Null is nothing; no key takes what has too many levels; each other kind suits the keys that are of it.
  expect(served.null).toBe(typedKeys.length);
  expect(served.deep).toBeUndefined();
  expect(
    Object.entries(served)
      .filter(([kind]) => kind !== "null")
      .reduce((sum, [, n]) => sum + n, 0),
  ).toBeLessThan(typedKeys.length * 2);
});

test("names as long as no name is are refused: maps that all share are keyed by them", async () => {
  const client = await start();
  const [long, longest] = ["x".repeat(4097), "x".repeat(4096)];
  for (const key of [
    "NAMESPACE",
    "CLUSTER_ID",
    "NETWORK",
    "NODE_NAME",
    "WORKLOAD_NAME",
    "SERVICE_ACCOUNT",
    "MESH_ID",
  ]) {
    expect(await refusal(client, { [key]: long }), key).toBe(status.invalidArgument);
    expect(await refusal(client, { [key]: longest }), key).toBeUndefined();
  }
  expect(await refusal(client, { INSTANCE_IPS: `10.0.0.1,${long}` })).toBe(status.invalidArgument);
  // A Pod may have very many ports.
  expect(await refusal(client, { POD_PORTS: long })).toBeUndefined();
});
