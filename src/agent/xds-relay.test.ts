import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AggregatedDiscoveryService } from "../gen/envoy/service/discovery/v3/ads_pb.js";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  type DiscoveryRequest,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "../gen/envoy/service/discovery/v3/discovery_pb.js";
import { NameTableSchema } from "../gen/istio/nds_pb.js";
import { createLogger, type Logger, silentLogger } from "../lib/index.ts";
import { types } from "../model/index.ts";
import {
  bidi,
  createRpcClient,
  createRpcServer,
  protoMethod,
  type RpcClient,
  RpcError,
  type RpcServer,
  status,
} from "../rpc/index.ts";
import { createNames } from "./dns/name-table.ts";
import type { OwnSubscription } from "./own-subscription.ts";
import type { WantedNames } from "./wanted-names.ts";
import type { ResponseRewriter } from "./wasm/ecds.ts";
import { createXdsRelay } from "./xds-relay.ts";

const method = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);
let dir: string;
const closers: (() => unknown)[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "fl-xds-"));
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  rmSync(dir, { recursive: true });
});

/** Upstream that answers each request with its names, and ends as it is told. */
async function startUpstream(end: (names: readonly string[]) => void): Promise<RpcServer> {
  const route = bidi(method, async (requests, _, send) => {
    for await (const request of requests) {
      end(request.resourceNames);
      await send(create(DiscoveryResponseSchema, { nonce: request.resourceNames.join(","), typeUrl: request.typeUrl }));
    }
  });
  const server = createRpcServer({ routes: [route], log: silentLogger });
  closers.push(() => server.close());
  await server.listen({ path: join(dir, "up") });
  return server;
}

interface RelayParts {
  readonly own?: OwnSubscription;
  readonly rewriter?: ResponseRewriter;
  readonly log?: Logger;
}

async function startRelay({ own, rewriter, log = silentLogger }: RelayParts = {}): Promise<RpcClient> {
  const upstream = createRpcClient({ target: { path: join(dir, "up") } });
  const routes = createXdsRelay({
    client: upstream,
    log,
    ...(own ? { own: [own] } : {}),
    ...(rewriter ? { rewriter } : {}),
  });
  const server = createRpcServer({ routes, log: silentLogger });
  await server.listen({ path: join(dir, "down") });
  const client = createRpcClient({ target: { path: join(dir, "down") } });
  closers.push(
    () => upstream.close(),
    () => server.close(),
    () => client.close(),
  );
  return client;
}

const ask = (name: string) => create(DiscoveryRequestSchema, { typeUrl: "t", resourceNames: [name] });

test("messages go both ways as they are", async () => {
  await startUpstream(() => {});
  const client = await startRelay();
  const stream = await client.stream(method);
  for (const name of ["a", "b"]) {
    await stream.send(ask(name));
    expect((await stream.messages.next()).value?.nonce).toBe(name);
  }
  stream.cancel();
});

test("the control plane's refusal is told as it is", async () => {
  await startUpstream(() => {
    throw new RpcError(status.permissionDenied, "not you");
  });
  const client = await startRelay();
  const stream = await client.stream(method);
  await stream.send(ask("a"));
  await expect(stream.messages.next()).rejects.toMatchObject({ status: status.permissionDenied, message: "not you" });
});

test("a control plane that is away is waited for, with all that was asked", async () => {
  const lines: string[] = [];
  const log = createLogger({ write: (line) => void lines.push(line), now: () => new Date(0) });
  const client = await startRelay({ log });
  const stream = await client.stream(method);
  for (const name of ["a", "b"]) await stream.send(ask(name));
  await expect.poll(() => lines).toEqual([expect.stringContaining("stream to the control plane is closed")]);
  await startUpstream(() => {});
  for (const name of ["a", "b"]) expect((await stream.messages.next()).value?.nonce).toBe(name);
  stream.cancel();
});

test("a control plane that is lost after it has answered ends the stream, and the next one finds it again", async () => {
  const client = await startRelay();
  const lost = await startUpstream(() => {});
  const first = await client.stream(method);
  await first.send(ask("a"));
  expect((await first.messages.next()).value?.nonce).toBe("a");
  await lost.close();
  await expect(first.messages.next()).rejects.toMatchObject({ status: status.unavailable });
  const second = await client.stream(method);
  await second.send(ask("b"));
  await startUpstream(() => {});
  expect((await second.messages.next()).value?.nonce).toBe("b");
  second.cancel();
});

describe("what is rewritten on the way", () => {
  const rewrittenAs = (response: Uint8Array, versionInfo: string): Uint8Array => {
    const { typeUrl, nonce } = fromBinary(DiscoveryResponseSchema, response);
    return toBinary(DiscoveryResponseSchema, create(DiscoveryResponseSchema, { typeUrl, nonce, versionInfo }));
  };
  const askFor = (typeUrl: string, name: string) => create(DiscoveryRequestSchema, { typeUrl, resourceNames: [name] });

  test("stays in its order, and keeps nothing else waiting", async () => {
    await startUpstream(() => {});
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let begun = 0;
    const wanted: WantedNames[] = [];
    const client = await startRelay({
      rewriter: {
        typeUrl: "w",
        asked: (names) => void wanted.push(names),
        async rewrite(variant, response) {
          await gates[begun++]?.promise;
          return rewrittenAs(response, variant);
        },
      },
    });
    const stream = await client.stream(method);
    for (const name of ["1", "2"]) await stream.send(askFor("w", name));
    await stream.send(ask("other"));
    expect((await stream.messages.next()).value).toMatchObject({ typeUrl: "t", nonce: "other" });
    for (const gate of gates) gate.resolve();
    expect((await stream.messages.next()).value).toMatchObject({ typeUrl: "w", nonce: "1", versionInfo: "sotw" });
    expect((await stream.messages.next()).value).toMatchObject({ typeUrl: "w", nonce: "2", versionInfo: "sotw" });
    expect(wanted).toEqual(["1", "2"].map((name) => ({ only: new Set([name]) })));
    stream.cancel();
  });

  test("goes as it was where it cannot be, and is asked for again when what was missing has come", async () => {
    await startUpstream(() => {});
    const come = Promise.withResolvers<void>();
    const client = await startRelay({
      rewriter: {
        typeUrl: "w",
        async rewrite(_, response, { onRecovered }) {
          void come.promise.then(onRecovered);
          throw new Error(`${response.length} bytes of nothing`);
        },
      },
    });
    const stream = await client.stream(method);
    await stream.send(askFor("w", "1"));
    expect((await stream.messages.next()).value).toMatchObject({ typeUrl: "w", nonce: "1" });
    come.resolve();
    await expect(stream.messages.next()).rejects.toMatchObject({
      status: status.unavailable,
      message: "a Wasm module has come",
    });
  });
});

describe("what the agent asks for itself", () => {
  const delta = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);
  const asked = (typeUrl: string, name = ""): DeltaDiscoveryRequest =>
    create(DeltaDiscoveryRequestSchema, { typeUrl, resourceNamesSubscribe: name === "" ? [] : [name] });

  /** Upstream that answers what is asked for and remembers everything it is sent. */
  async function startDelta(): Promise<DeltaDiscoveryRequest[]> {
    const seen: DeltaDiscoveryRequest[] = [];
    const route = bidi(delta, async (requests, _, send) => {
      for await (const request of requests) {
        seen.push(request);
        const { typeUrl, responseNonce } = request;
        if (responseNonce === "") await send(create(DeltaDiscoveryResponseSchema, { typeUrl, nonce: `n-${typeUrl}` }));
      }
    });
    const server = createRpcServer({ routes: [route], log: silentLogger });
    closers.push(() => server.close());
    await server.listen({ path: join(dir, "up") });
    return seen;
  }

  test("goes after Envoy's first request, and its answers do not reach Envoy", async () => {
    const upstream = await startDelta();
    const received: string[] = [];
    const answered = Promise.withResolvers<void>();
    let attached = 0;
    const own: OwnSubscription = {
      typeUrl: "own",
      attach(send) {
        attached++;
        send(toBinary(DeltaDiscoveryRequestSchema, asked("own", "10.0.0.1")));
        return () => {
          attached--;
        };
      },
      receive(bytes) {
        const { nonce } = fromBinary(DeltaDiscoveryResponseSchema, bytes);
        received.push(nonce);
        answered.resolve();
        return toBinary(
          DeltaDiscoveryRequestSchema,
          create(DeltaDiscoveryRequestSchema, { typeUrl: "own", responseNonce: nonce }),
        );
      },
    };
    const client = await startRelay({ own });
    const stream = await client.stream(delta);
    await stream.send(asked("envoy"));
    expect((await stream.messages.next()).value?.typeUrl).toBe("envoy");
    await answered.promise;
    await stream.send(asked("envoy", "b"));
    expect((await stream.messages.next()).value?.typeUrl).toBe("envoy");
    expect(upstream.map(({ typeUrl, responseNonce }) => [typeUrl, responseNonce])).toEqual([
      ["envoy", ""],
      ["own", ""],
      ["own", "n-own"],
      ["envoy", ""],
    ]);
    expect(received).toEqual(["n-own"]);
    stream.cancel();
    await expect.poll(() => attached).toBe(0);
  });

  test("is asked for on a stream of the other variant where it is whole", async () => {
    const resource = anyPack(
      NameTableSchema,
      create(NameTableSchema, { table: { "web.mesh": { ips: ["10.0.0.7"] } } }),
    );
    const spoilt = { ...resource, value: new Uint8Array([255]) };
    const seen: DiscoveryRequest[] = [];
    const answers = [[resource], [spoilt], []];
    const route = bidi(method, async (requests, _, send) => {
      for await (const request of requests) {
        if (request.typeUrl === types.nameTable) seen.push(request);
        const resources = request.typeUrl === types.nameTable ? answers.shift() : [];
        const version = String(seen.length);
        const answer = {
          nonce: `n${version}`,
          versionInfo: version,
          typeUrl: request.typeUrl,
          resources: resources ?? [],
        };
        if (resources) await send(create(DiscoveryResponseSchema, answer));
      }
    });
    const server = createRpcServer({ routes: [route], log: silentLogger });
    closers.push(() => server.close());
    await server.listen({ path: join(dir, "up") });
    const names = createNames({ namespace: "default", search: [] });
    const found: (readonly string[] | undefined)[] = [];
    const own: OwnSubscription = {
      ...names.subscription,
      receive(bytes) {
        const answer = names.subscription.receive(bytes);
        found.push(names.lookup("web.mesh")?.ipv4);
        return answer;
      },
    };
    const client = await startRelay({ own });
    const stream = await client.stream(method);
    await stream.send(ask("a"));
    expect((await stream.messages.next()).value?.typeUrl).toBe("t");
    await expect.poll(() => seen.length, { timeout: 60_000 }).toBe(4);
    // What cannot be read is refused and leaves what was there; an empty answer takes it away.
    expect(found).toEqual([["10.0.0.7"], ["10.0.0.7"], undefined]);
    const facts = seen.map(({ versionInfo, responseNonce, errorDetail }) => [
      versionInfo,
      responseNonce,
      errorDetail !== undefined,
    ]);
    expect(facts).toEqual([
      ["", "", false],
      ["1", "n1", false],
      ["1", "n2", true],
      ["3", "n3", false],
    ]);
    stream.cancel();
  });

  test("is left alone on a stream of the other variant where it is not", async () => {
    await startUpstream(() => {});
    const own: OwnSubscription = {
      typeUrl: "t",
      attach: () => {
        throw new Error("not here");
      },
      receive: () => undefined,
    };
    const client = await startRelay({ own });
    const stream = await client.stream(method);
    await stream.send(ask("a"));
    expect((await stream.messages.next()).value?.nonce).toBe("a");
    stream.cancel();
  });
});
