import { randomUUID } from "node:crypto";
import { create, type JsonObject, toBinary } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import { AggregatedDiscoveryService } from "../../gen/envoy/service/discovery/v3/ads_pb.js";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { createRpcClient, createRpcServer, protoMethod, type RpcClient, RpcError, status } from "../../rpc/index.ts";
import { createAds } from "../server/ads.ts";
import { createReadSimple } from "../server/simple-request.ts";
import { createMemorySource, metadataValues, resource } from "../testing.ts";
import { typedKeys } from "./node-metadata.ts";

const opened: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of opened.splice(0).reverse()) await end();
});

const sotwMethod = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);
const deltaMethod = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);

const request = (metadata: JsonObject) => ({
  node: { id: "sidecar~10.0.0.1~pod.default~default.svc.cluster.local", metadata },
  typeUrl: types.cluster,
});

async function openSotw(client: RpcClient, metadata: JsonObject) {
  const stream = await client.stream(sotwMethod);
  await stream.send(create(DiscoveryRequestSchema, request(metadata)));
  return stream;
}

async function openDelta(client: RpcClient, metadata: JsonObject) {
  const stream = await client.stream(deltaMethod);
  await stream.send(create(DeltaDiscoveryRequestSchema, request(metadata)));
  return stream;
}

async function start(): Promise<RpcClient> {
  const source = createMemorySource();
  source.set({ [types.cluster]: [resource("a", "a")] });
  const ads = createAds({
    ...{ source, identifier: "test", ready: () => true, log: silentLogger, now: () => new Date(), uuid: randomUUID },
  });
  const server = createRpcServer({ routes: ads.routes(() => undefined), log: silentLogger });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  opened.push(() => server.close());
  const client = createRpcClient({ target: { host: "127.0.0.1", port } });
  opened.push(() => client.close());
  return client;
}

type Open = typeof openSotw | typeof openDelta;

/** Undefined where config came. */
async function refusal(open: Open, client: RpcClient, metadata: JsonObject): Promise<number | undefined> {
  const stream = await open(client, metadata);
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

describe.each<[string, Open]>([
  ["sotw", openSotw],
  ["delta", openDelta],
])("%s", (_, open) => {
  test("R26: every typed key with a value of every kind is served or refused, and the server lives on", async () => {
    const client = await start();
    const served: Record<string, number> = {};
    for (const key of typedKeys)
      for (const [kind, value] of Object.entries(metadataValues)) {
        const code = await refusal(open, client, { [key]: value });
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
      expect(await refusal(open, client, { [key]: long }), key).toBe(status.invalidArgument);
      expect(await refusal(open, client, { [key]: longest }), key).toBeUndefined();
    }
    expect(await refusal(open, client, { INSTANCE_IPS: `10.0.0.1,${long}` })).toBe(status.invalidArgument);
    // A Pod may have very many ports.
    expect(await refusal(open, client, { POD_PORTS: long })).toBeUndefined();
  });
});

test("R26: in delta none of these but what is too deep is left to the decoder", () => {
  const readSimple = createReadSimple();
  const isRead = (metadata: JsonObject): boolean =>
    readSimple(toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, request(metadata)))) !==
    undefined;
  const read = Object.keys(metadataValues).filter((kind) =>
    typedKeys.every((key) => isRead({ [key]: metadataValues[kind] ?? null })),
  );
  expect(read).toEqual(["null", "number", "string", "array", "object"]);
});
