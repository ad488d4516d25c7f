/** X10: peers that are gone without a word, as behind a cable that was pulled, while two hundred other proxies are served. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { DeltaDiscoveryRequestSchema } from "../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { silentLogger } from "../src/lib/index.ts";
import { types } from "../src/model/index.ts";
import { createRpcClient, createRpcServer, type RpcClient } from "../src/rpc/index.ts";
import { createAds, deltaMethod } from "../src/xds/index.ts";
import { createMemorySource, resource } from "../src/xds/testing.ts";

const [othersCount, goneCount] = [200, 20];
/** A busy machine must have the time to answer. */
const limits = { keepaliveMs: 1000, keepaliveTimeoutMs: 4000 };

interface Follower {
  seen: string;
  failure: unknown;
}

async function follow(rpc: RpcClient, name: string): Promise<Follower> {
  const follower: Follower = { seen: "", failure: undefined };
  const stream = await rpc.stream(deltaMethod);
  const node = { id: `sidecar~10.0.0.1~${name}.default~default.svc.cluster.local` };
  void stream.send(create(DeltaDiscoveryRequestSchema, { node, typeUrl: types.cluster })).catch(() => {});
  const read = async (): Promise<void> => {
    for await (const { resources, nonce: responseNonce } of stream.messages) {
      follower.seen = new TextDecoder().decode(resources[0]?.resource?.value);
      void stream.send(create(DeltaDiscoveryRequestSchema, { typeUrl: types.cluster, responseNonce })).catch(() => {});
    }
  };
  read().catch((error: unknown) => {
    follower.failure = error;
  });
  return follower;
}

/** What goes through it to the port can be held up for ever, in both directions, without an end of anything. */
async function startCable(port: number) {
  const ends: Socket[] = [];
  const server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    ends.push(near, far);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("error", () => {});
      from.on("data", (bytes) => isPulled || to.write(bytes));
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  let isPulled = false;
  return {
    port: (server.address() as AddressInfo).port,
    pull() {
      isPulled = true;
    },
    close() {
      for (const end of ends) end.destroy();
      server.close();
    },
  };
}

test("X10: peers that are gone without a word are dropped in time, and keep nobody else from changes meanwhile", async () => {
  const source = createMemorySource();
  const ads = createAds({
    ...{ source, identifier: "test", ready: () => true, log: silentLogger },
    ...{ now: () => new Date(), uuid: randomUUID },
  });
  const server = createRpcServer({ routes: ads.routes(() => undefined), log: silentLogger, limits });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  const cable = await startCable(port);
  const clients: RpcClient[] = [];
  const clientTo = (to: number): RpcClient => {
    const made = createRpcClient({ target: { host: "127.0.0.1", port: to } });
    clients.push(made);
    return made;
  };
  const change = (text: string): void => source.set({ [types.cluster]: [resource("tick", text)] });
  change("first");
  const shared = Array.from({ length: 4 }, () => clientTo(port));
  const others = await Promise.all(
    Array.from({ length: othersCount }, (_, i) => follow(shared[i % 4] as RpcClient, `other-${i}`)),
  );
  const gone = await Promise.all(
    Array.from({ length: goneCount }, (_, i) => follow(clientTo(cable.port), `gone-${i}`)),
  );
  const reached = (all: readonly Follower[], text: string): boolean => all.every(({ seen }) => seen === text);
  await expect.poll(() => reached([...others, ...gone], "first")).toBe(true);

  cable.pull();
  change("second");
  await expect.poll(() => reached(others, "second")).toBe(true);
  // They are there still, as far as anybody can know.
  expect(ads.status()).toHaveLength(othersCount + goneCount);
  await expect.poll(() => ads.status().length).toBe(othersCount);
  expect(server.load().connections).toBe(shared.length);
  change("third");
  await expect.poll(() => reached(others, "third")).toBe(true);
  expect(others.filter(({ failure }) => failure !== undefined)).toEqual([]);
  expect(reached(gone, "first")).toBe(true);
  for (const client of clients) client.close();
  cable.close();
  await server.close();
});
