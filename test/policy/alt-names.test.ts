/** Names that a DestinationRule asks of a server's certificate, before a real stock Envoy: a wildcard is one label, and never the user's. */
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { istio, pod } from "../render/objects.ts";
import { type Json, renderProxy } from "../render/offline.ts";
import { lacks } from "../require.ts";
import { createCa, type ServerIdentity, type TestCa } from "../traffic/ca.ts";
import { ownAddress, ownPorts, type RunningEnvoy, startEnvoy, staticCluster } from "./envoy.ts";
import { withSecrets } from "./workload.ts";

/** Names of the certificate, what the DestinationRule asks for, and whether they agree. */
const cases: readonly (readonly [shown: string, asked: string, agrees: boolean])[] = [
  ["a.example.com", "a.example.com", true],
  ["*.example.com", "a.example.com", true],
  ["*.example.com", "a.b.example.com", false],
  ["*.example.com", "example.com", false],
  ["a.b.example.com", "*.example.com", false],
  ["a.example.com", "*.example.com", false],
  ["a.example.com", "example.com", false],
  ["axexample.com", "a.example.com", false],
];
const ports = ownPorts(cases.length);
const hostOf = (index: number): string => `h${index}.test`;

async function clusterOf(index: number, secrets: Parameters<typeof withSecrets>[1], port: number): Promise<Json> {
  const host = hostOf(index);
  const [, asked] = cases[index] ?? [];
  const { clusters } = await renderProxy({
    objects: [
      pod("client", { proxy: "sidecar" }),
      istio("ServiceEntry", "s", {
        hosts: [host],
        ports: [{ number: 443, name: "http", protocol: "HTTP" }],
        resolution: "STATIC",
        endpoints: [{ address: "10.0.0.9" }],
      }),
      istio("DestinationRule", "d", {
        host,
        trafficPolicy: { tls: { mode: "SIMPLE", caCertificates: "/ca", sni: "s", subjectAltNames: [asked] } },
      }),
    ],
    profile: "envoy",
  });
  const { transportSocket } = withSecrets(clusters.get(`outbound|443||${host}`), secrets);
  return { ...staticCluster(host, port), transportSocket };
}

const listenerOf = (index: number): Json => ({
  name: hostOf(index),
  address: { socketAddress: { address: ownAddress, portValue: ports[index] } },
  filterChains: [
    {
      filters: [
        {
          name: "tcp",
          typedConfig: {
            "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
            statPrefix: "tcp",
            cluster: hostOf(index),
          },
        },
      ],
    },
  ],
});

describe.skipIf(lacks("envoy"))("names of servers before a stock Envoy", () => {
  let envoy: RunningEnvoy;
  const servers: Server[] = [];

  async function serve(ca: TestCa, name: string): Promise<{ readonly port: number; readonly own: ServerIdentity }> {
    const own = await ca.server([name]);
    const server = createServer(own, (_request, response) => response.end("hello"));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return { port: (server.address() as AddressInfo).port, own };
  }

  beforeAll(async () => {
    const ca = await createCa();
    const clusters = await Promise.all(
      cases.map(async ([shown], i) => {
        const { port, own } = await serve(ca, shown);
        return clusterOf(i, { own, root: ca.roots }, port);
      }),
    );
    envoy = await startEnvoy(
      cases.map((_, i) => listenerOf(i)),
      clusters,
    );
  });
  afterAll(async () => {
    await envoy?.close();
    for (const server of servers) server.close();
  });

  test.each(cases.map(([shown, asked, agrees], index) => ({ shown, asked, agrees, index })))(
    "R13: a server that shows $shown, asked for $asked: $agrees",
    async ({ agrees, index }) => {
      const answer = await fetch(`http://${ownAddress}:${ports[index]}/`).then(
        (response) => response.text(),
        () => "refused",
      );
      expect(answer).toBe(agrees ? "hello" : "refused");
    },
  );
});
