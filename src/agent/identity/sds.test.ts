import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SecretSchema } from "../../gen/envoy/extensions/transport_sockets/tls/v3/secret_pb.js";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { SecretDiscoveryService } from "../../gen/envoy/service/secret/v3/sds_pb.js";
import { silentLogger } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import {
  type ClientStream,
  createRpcClient,
  createRpcServer,
  protoMethod,
  type RpcClient,
  type RpcServer,
} from "../../rpc/index.ts";
import type { WorkloadCredentials } from "./credentials.ts";
import { createSdsRoutes } from "./sds.ts";
import { createSecretSource } from "./secrets.ts";
import type { WorkloadIdentity } from "./workload-identity.ts";

const sotw = protoMethod(SecretDiscoveryService.method.streamSecrets);
const delta = protoMethod(SecretDiscoveryService.method.deltaSecrets);

/** An identity whose credentials the test sets. */
function createIdentity(): WorkloadIdentity & { set(name: string): void } {
  const listeners = new Set<(credentials: WorkloadCredentials) => void>();
  let current: WorkloadCredentials | undefined;
  return {
    current: () => current,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    renewSoon: () => {},
    run: () => Promise.resolve(),
    set(name) {
      current = { chain: `chain ${name}\n`, key: `key ${name}\n`, roots: `roots ${name}\n`, notAfter: new Date() };
      for (const listener of listeners) listener(current);
    },
  };
}

describe("secret discovery on a unix socket", () => {
  let dir: string;
  let server: RpcServer;
  let client: RpcClient;
  let identity: ReturnType<typeof createIdentity>;
  const streams: { cancel(): void }[] = [];

  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), "fl-sds-"));
    identity = createIdentity();
    const source = createSecretSource({ identity, extraRoots: () => "extra\n", log: silentLogger });
    server = createRpcServer({ routes: createSdsRoutes(source, silentLogger), log: silentLogger });
    await server.listen({ path: join(dir, "socket") });
    client = createRpcClient({ target: { path: join(dir, "socket") } });
  });
  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.cancel();
    client.close();
    await server.close();
    rmSync(dir, { recursive: true });
  });

  async function open<I, O>(method: Parameters<typeof client.stream<I, O>>[0]): Promise<ClientStream<I, O>> {
    const stream = await client.stream(method);
    streams.push(stream);
    return stream;
  }
  const inline = (source: { specifier: { case?: string | undefined; value?: unknown } } | undefined): string =>
    Buffer.from(source?.specifier.value as Uint8Array)
      .toString()
      .trim();
  function describeSecret(bytes: Uint8Array | undefined): string {
    const { name, type } = fromBinary(SecretSchema, bytes ?? new Uint8Array());
    if (type.case === "tlsCertificate")
      return `${name}: ${inline(type.value.certificateChain)}, ${inline(type.value.privateKey)}`;
    return type.case === "validationContext" ? `${name}: ${inline(type.value.trustedCa)}` : "?";
  }
  const next = async <T>(messages: AsyncGenerator<T>): Promise<T> => {
    const { value, done } = await messages.next();
    if (done) throw new Error("the stream ended");
    return value;
  };
  const ask = (resourceNames: string[], responseNonce = "", refused = "") =>
    create(DiscoveryRequestSchema, {
      resourceNames,
      responseNonce,
      typeUrl: types.secret,
      ...(refused === "" ? {} : { errorDetail: { message: refused } }),
    });

  test("state of the world: an answer when there is a secret, another when it changes", async () => {
    const stream = await open(sotw);
    await stream.send(ask(["default"]));
    identity.set("1");
    const first = await next(stream.messages);
    expect(first.resources.map((resource) => describeSecret(resource.value))).toEqual(["default: chain 1, key 1"]);
    await stream.send(ask(["default"], first.nonce));
    identity.set("2");
    const second = await next(stream.messages);
    expect(describeSecret(second.resources[0]?.value)).toBe("default: chain 2, key 2");
    expect(second.nonce).not.toBe(first.nonce);
  });

  test("a refusal is not answered with the same again, nor is a stale nonce", async () => {
    identity.set("1");
    const stream = await open(sotw);
    await stream.send(ask(["ROOTCA"]));
    const first = await next(stream.messages);
    expect(describeSecret(first.resources[0]?.value)).toBe("ROOTCA: roots 1\nextra");
    await stream.send(ask(["ROOTCA"], first.nonce, "bad"));
    await stream.send(ask(["default"], "stale"));
    identity.set("2");
    const second = await next(stream.messages);
    expect(second.resources.map((resource) => describeSecret(resource.value))).toEqual(["ROOTCA: roots 2\nextra"]);
  });

  test("delta: single secrets come and go by name", async () => {
    identity.set("1");
    const stream = await open(delta);
    const send = (subscribe: string[], unsubscribe: string[] = [], responseNonce = "") =>
      stream.send(
        create(DeltaDiscoveryRequestSchema, {
          typeUrl: types.secret,
          resourceNamesSubscribe: subscribe,
          resourceNamesUnsubscribe: unsubscribe,
          responseNonce,
        }),
      );
    await send(["default"]);
    const first = await next(stream.messages);
    expect(first.resources.map((resource) => resource.name)).toEqual(["default"]);
    await send(["ROOTCA"], ["default"], first.nonce);
    const second = await next(stream.messages);
    expect(second.resources.map((resource) => resource.name)).toEqual(["ROOTCA"]);
    identity.set("2");
    const third = await next(stream.messages);
    expect(third.resources.map((resource) => describeSecret(resource.resource?.value))).toEqual([
      "ROOTCA: roots 2\nextra",
    ]);
    expect(third.resources[0]?.version).not.toBe(second.resources[0]?.version);
  });

  test("files are secrets by their name, and a replaced file is sent anew", async () => {
    const [chain, key] = [join(dir, "c.pem"), join(dir, "k.pem")];
    const stream = await open(sotw);
    const name = `file-cert:${chain}~${key}`;
    await stream.send(ask([name]));
    await stream.send(ask([name, "file-root:/does/not/exist", "kubernetes://other"]));
    writeFileSync(key, "key");
    writeFileSync(chain, "one");
    const first = await next(stream.messages);
    expect(describeSecret(first.resources[0]?.value)).toContain(", key");
    await stream.send(ask([name], first.nonce));
    writeFileSync(join(dir, "new"), "two");
    renameSync(join(dir, "new"), chain);
    for (let seen = ""; !seen.includes(": two"); )
      seen = describeSecret((await next(stream.messages)).resources[0]?.value);
  });
});

test("the machine's own list of CAs is a secret", () => {
  const source = createSecretSource({ identity: createIdentity(), extraRoots: () => "", log: silentLogger });
  const content = source.get("file-root:system")?.content;
  expect(content?.type === "roots" && content.pem).toContain("-----BEGIN CERTIFICATE-----");
});
