/** Every kind of cluster and every block of a traffic policy, in the stock profile, before a real Envoy. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { findEnvoy, lacks } from "../require.ts";
import { istio, service, slice, smallMesh } from "./objects.ts";
import { type Json, renderProxy } from "./offline.ts";
import { createStaticSecrets } from "./static-secrets.ts";

const policies: Readonly<Record<string, object>> = {
  pool: {
    connectionPool: {
      tcp: {
        maxConnections: 1,
        connectTimeout: "1s",
        idleTimeout: "9s",
        maxConnectionDuration: "9s",
        tcpKeepalive: {},
      },
      http: { h2UpgradePolicy: "UPGRADE", maxConcurrentStreams: 2, http2KeepAlive: { interval: "5s", timeout: "1s" } },
    },
    retryBudget: { percent: 10 },
  },
  client: { connectionPool: { http: { useClientProtocol: true, maxRequestsPerConnection: 3 } } },
  outlier: {
    outlierDetection: {
      consecutive5xxErrors: 0,
      consecutiveGatewayErrors: 1,
      splitExternalLocalOriginErrors: true,
      consecutiveLocalOriginFailures: 2,
      outlierDetectionHttpErrorCodes: [429, 503],
    },
    loadBalancer: { localityLbSetting: { failoverPriority: ["version"] } },
  },
  distribute: { loadBalancer: { localityLbSetting: { distribute: [{ from: "*", to: { "*": 100 } }] } } },
  zones: { loadBalancer: { zoneAwareLbSetting: { minClusterSize: 3 } } },
  ring: { loadBalancer: { consistentHash: { httpCookie: { name: "c" }, ringHash: { minimumRingSize: 64 } } } },
  maglev: { loadBalancer: { consistentHash: { useSourceIp: true, maglev: { tableSize: 101 } } } },
  warmup: { loadBalancer: { simple: "ROUND_ROBIN", warmup: { duration: "30s", aggression: 2, minimumPercent: 5 } } },
  passthrough: { loadBalancer: { simple: "PASSTHROUGH" } },
  simple: { tls: { mode: "SIMPLE" } },
  files: { tls: { mode: "MUTUAL", clientCertificate: "/c", privateKey: "/k", caCertificates: "/ca", sni: "s" } },
  unchecked: { tls: { mode: "SIMPLE", insecureSkipVerify: true, subjectAltNames: ["a"] } },
  secret: { tls: { mode: "MUTUAL", credentialName: "cred" } },
  proxied: { proxyProtocol: { version: "V2" } },
};

const destinations = Object.entries(policies).flatMap(([host, trafficPolicy]) => [
  service(host, { selector: "web" }),
  slice(host, [{ address: "10.0.0.1", pod: "web" }]),
  istio("DestinationRule", host, { host, trafficPolicy, subsets: [{ name: "all" }] }),
]);

const ports = [{ number: 80, name: "http", protocol: "HTTP" }];
const external: readonly KubeObject[] = [
  istio("ServiceEntry", "dns", { hosts: ["dns.example"], ports, resolution: "DNS" }),
  istio("ServiceEntry", "rr", { hosts: ["rr.example"], ports, resolution: "DNS_ROUND_ROBIN" }),
  istio("ServiceEntry", "any", { hosts: ["*.any.example"], ports, resolution: "DYNAMIC_DNS" }),
  istio("ServiceEntry", "none", {
    hosts: ["none.example"],
    ports: [{ ...ports[0], targetPort: 81 }],
    resolution: "NONE",
  }),
  istio("DestinationRule", "any", { host: "*.any.example", trafficPolicy: { tls: { mode: "SIMPLE" } } }),
];

const ownServer = [
  service("client", { portName: "x" }),
  slice("client", [{ address: "10.0.0.9", pod: "client" }], 8080, "x"),
];

describe.skipIf(lacks("envoy"))("a stock Envoy", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-clusters-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const validate = async (clusters: Iterable<Json>): Promise<string> => {
    const file = join(dir, "bootstrap.json");
    const withSecrets = await createStaticSecrets();
    const node = { id: "test", cluster: "test" };
    writeFileSync(file, JSON.stringify({ node, staticResources: { clusters: withSecrets([...clusters]) } }));
    const run = spawnSync(findEnvoy() ?? "", ["--mode", "validate", "-c", file, "-l", "error"], { encoding: "utf8" });
    return run.status === 0 ? "accepted" : run.stderr;
  };

  test.each(["sidecar", "router"] as const)("accepts the clusters and endpoints of a %s", async (type) => {
    const objects = [...smallMesh("http", type), ...destinations, ...external, ...ownServer];
    const mesh = { outboundTrafficPolicy: { mode: "ALLOW_ANY_DYNAMIC_DNS" } };
    const { clusters, endpoints } = await renderProxy({ objects, mesh, profile: "envoy" });
    expect(clusters.size).toBeGreaterThan(2 * Object.keys(policies).length);
    // Inlined, endpoints are looked at too.
    const inlined = [...clusters.values()].map(({ edsClusterConfig, ...cluster }) =>
      edsClusterConfig ? { ...cluster, type: "STATIC", loadAssignment: endpoints.get(cluster.name) } : cluster,
    );
    expect(await validate(inlined)).toBe("accepted");
  });

  test("would not accept what an istio-proxy gets", async () => {
    const { clusters } = await renderProxy({ objects: smallMesh() });
    const fixed = [...clusters.values()].filter(({ edsClusterConfig }) => !edsClusterConfig);
    expect(await validate(fixed)).toContain("istio.metadata_exchange");
  });
});
