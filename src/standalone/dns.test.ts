import { createSocket } from "node:dgram";
import { Resolver } from "node:dns/promises";
import { connect } from "node:net";
import { decode, encode } from "dns-packet";
import { afterEach, describe, expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { silentLogger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createClusterNames } from "./cluster-names.ts";
import { createDnsServer, type DnsServer } from "./dns.ts";

const servers: DnsServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const service = (name: string, clusterIP: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace: "shop" },
  spec: { clusterIP },
});
const slice = (name: string, endpoints: readonly object[]): KubeObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: `${name}-1`, namespace: "shop", labels: { "kubernetes.io/service-name": name } },
  endpoints,
});

async function start(upstream?: { address: string; port: number }): Promise<{ resolver: Resolver; port: number }> {
  const graph = createGraph();
  const [services, slices] = [graph.source<KubeObject>("services"), graph.source<KubeObject>("slices")];
  services.set("shop/reviews", service("reviews", "10.96.0.5"));
  services.set("shop/peers", service("peers", "None"));
  slices.set(
    "shop/peers-1",
    slice("peers", [
      { addresses: ["10.1.0.1"], hostname: "peer-0", conditions: { ready: true } },
      { addresses: ["10.1.0.2"], hostname: "peer-1" },
      { addresses: ["10.1.0.3"], conditions: { ready: false } },
    ]),
  );
  const lookup = createClusterNames("cluster.local", services, slices);
  const server = await createDnsServer({
    address: "127.0.0.1",
    port: 0,
    domain: "cluster.local",
    lookup,
    log: silentLogger,
    ...(upstream ? { upstream } : {}),
  });
  servers.push(server);
  const resolver = new Resolver({ timeout: 1_000, tries: 1 });
  resolver.setServers([`127.0.0.1:${server.port}`]);
  return { resolver, port: server.port };
}

describe("DNS of the mesh network", () => {
  test("Services by their address, headless ones by their ready Pods, Pods by their host name", async () => {
    const { resolver } = await start();
    expect(await resolver.resolve4("reviews.shop.svc.cluster.local")).toEqual(["10.96.0.5"]);
    expect((await resolver.resolve4("PEERS.shop.svc.cluster.local")).sort()).toEqual(["10.1.0.1", "10.1.0.2"]);
    expect(await resolver.resolve4("peer-1.peers.shop.svc.cluster.local")).toEqual(["10.1.0.2"]);
  });

  test("names that are not there do not exist; other names are refused without an upstream", async () => {
    const { resolver } = await start();
    await expect(resolver.resolve4("nobody.shop.svc.cluster.local")).rejects.toMatchObject({ code: "ENOTFOUND" });
    await expect(resolver.resolve4("peer-9.peers.shop.svc.cluster.local")).rejects.toMatchObject({ code: "ENOTFOUND" });
    await expect(resolver.resolve4("example.com")).rejects.toMatchObject({ code: "ESERVFAIL" });
    // A name with another type is there, and has no such record.
    await expect(resolver.resolve6("reviews.shop.svc.cluster.local")).rejects.toMatchObject({ code: "ENODATA" });
  });

  test("other names are asked of the upstream", async () => {
    const upstream = createSocket("udp4");
    upstream.on("message", (data, peer) => {
      const { id, questions = [] } = decode(data);
      const answer = encode({
        type: "response",
        id: id ?? 0,
        questions,
        answers: [{ type: "A", name: "example.com", ttl: 1, data: "192.0.2.7" }],
      });
      upstream.send(answer, peer.port, peer.address);
    });
    await new Promise<void>((resolve) => upstream.bind(0, "127.0.0.1", resolve));
    try {
      const { resolver } = await start({ address: "127.0.0.1", port: upstream.address().port });
      expect(await resolver.resolve4("example.com")).toEqual(["192.0.2.7"]);
    } finally {
      upstream.close();
    }
  });

  test("TCP answers too, and rubbish is left unanswered without harm", async () => {
    const { resolver, port } = await start();
    const noise = createSocket("udp4");
    noise.send(Buffer.from("this is no DNS"), port, "127.0.0.1");
    const query = encode({
      type: "query",
      id: 7,
      flags: 0x0100,
      questions: [{ type: "A", name: "reviews.shop.svc.cluster.local" }],
    });
    const head = Buffer.alloc(2);
    head.writeUInt16BE(query.length);
    const socket = connect(port, "127.0.0.1");
    const reply = await new Promise<Buffer>((resolve) => {
      // In two pieces, as TCP may deliver them.
      socket.write(Buffer.concat([head, query.subarray(0, 5)]));
      setImmediate(() => socket.write(query.subarray(5)));
      socket.once("data", resolve);
    });
    socket.destroy();
    noise.close();
    expect(decode(reply.subarray(2))).toMatchObject({ id: 7, rcode: "NOERROR", answers: [{ data: "10.96.0.5" }] });
    expect(await resolver.resolve4("reviews.shop.svc.cluster.local")).toEqual(["10.96.0.5"]);
  });
});
