/** What made a part, and what an object reaches: `proxy-config --why` and `get --affects` on an API. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { startApi, type TestApi } from "../apiserver/testing.ts";
import { runCli } from "./testing.ts";

const service = (name: string): string => `apiVersion: v1
kind: Service
metadata: { name: ${name}, namespace: shop }
spec: { selector: { app: ${name} }, ports: [{ name: http, port: 80 }] }
---
`;

const objects = `apiVersion: v1
kind: Namespace
metadata: { name: shop }
---
apiVersion: v1
kind: Pod
metadata: { name: client, namespace: shop, labels: { app: client } }
spec: { containers: [{ name: app, image: x }, { name: istio-proxy, image: x, args: [proxy, sidecar] }] }
---
${service("web")}${service("other")}apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: web, namespace: shop }
spec: { hosts: [web], http: [{ route: [{ destination: { host: web, subset: v1 } }] }] }
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: other, namespace: shop }
spec: { hosts: [other], http: [{ timeout: 5s, route: [{ destination: { host: other } }] }] }
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: web, namespace: shop }
spec: { host: web, subsets: [{ name: v1, labels: { version: v1 } }] }
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: nobody, namespace: shop }
spec: { selector: { matchLabels: { app: nobody } } }
`;

const host = "web.shop.svc.cluster.local";
const type = (name: string): string => `type.googleapis.com/${name}`;

/** As the control plane hands it out for a proxy whose Envoy cannot be asked. */
const dump = {
  configs: [
    {
      "@type": type("envoy.admin.v3.ClustersConfigDump"),
      dynamic_active_clusters: [`outbound|80|v1|${host}`, "BlackHoleCluster"].map((name) => ({
        cluster: { "@type": type("envoy.config.cluster.v3.Cluster"), name, type: "EDS" },
      })),
    },
    {
      "@type": type("envoy.admin.v3.RoutesConfigDump"),
      dynamic_route_configs: [
        {
          route_config: {
            "@type": type("envoy.config.route.v3.RouteConfiguration"),
            name: "80",
            virtual_hosts: [
              {
                name: `${host}:80`,
                domains: ["web"],
                routes: [{ match: { prefix: "/" }, route: { cluster: `outbound|80|v1|${host}` } }],
              },
            ],
          },
        },
      ],
    },
  ],
};

describe.skipIf(lacks("kubectl"))("provenance, on an API", () => {
  let api: TestApi;
  let server: Server;
  beforeAll(async () => {
    api = await startApi();
    const applied = await api.kubectl("apply -f -", objects);
    expect([applied.code, applied.err]).toEqual([0, ""]);
    const status = JSON.stringify({ status: { phase: "Running", podIP: "10.0.0.9", podIPs: [{ ip: "10.0.0.9" }] } });
    const patched = await api.kubectl(`patch pod client -n shop --subresource=status --type=merge -p '${status}'`);
    expect([patched.code, patched.err]).toEqual([0, ""]);
    server = createServer((_request, response) => response.end(JSON.stringify(dump)));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  afterAll(async () => {
    server.close();
    await api.close();
  });

  const show = (kind: string, ...more: readonly string[]) => {
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = ["pc", kind, "client.shop", "--control-plane", address, "--kubeconfig", api.kubeconfig, ...more];
    return runCli([...args, "--data", "/nonexistent"]);
  };
  test("an exported kubeconfig is as good as a named one", async () => {
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = ["pc", "cluster", "client.shop", "--control-plane", address, "--data", "/nonexistent"];
    const exported = await runCli(args, undefined, undefined, { KUBECONFIG: api.kubeconfig });
    expect(exported).toEqual(await show("cluster"));
    expect(exported.stdout).toContain(host);
  });

  const affects = (...args: readonly string[]) =>
    runCli(["get", ...args, "-n", "shop", "--affects", "--kubeconfig", api.kubeconfig]);

  test("a cluster comes from its rule's subset and its Service, and from no other", async () => {
    const { status, stdout } = await show("cluster", "--why");
    expect(status).toBe(0);
    const [header = "", ...rows] = stdout.trimEnd().split("\n");
    expect(header).toMatch(/ WHY *$/);
    expect(rows.find((row) => row.startsWith(host))?.trimEnd()).toMatch(
      / DestinationRule\/shop\/web spec\.subsets\[0\]; Service\/shop\/web$/,
    );
    expect(rows.find((row) => row.startsWith("BlackHole"))?.trimEnd()).toMatch(/ -$/);
  });

  test("a virtual host comes from its own VirtualService, not from those beside it", async () => {
    const { stdout } = await show("route", "--why");
    expect(stdout).toContain("VirtualService/shop/web spec.http[0]");
    expect(stdout).not.toContain("VirtualService/shop/other");
    expect((await show("route")).stdout).not.toContain("WHY");
  });

  test("for programs with what was looked for and is not there, apart", async () => {
    const data: unknown = JSON.parse((await show("cluster", "--why", "-o", "json")).stdout);
    expect(data).toContainEqual({
      name: `outbound|80|v1|${host}`,
      from: [
        { object: "DestinationRule/shop/web", fields: ["spec.subsets[0]"] },
        { object: "Service/shop/web", fields: [] },
      ],
      missing: expect.arrayContaining(["configmaps/istio-system/istio"]),
    });
  });

  test("a dump alone cannot say", async () => {
    const { status, stderr } = await runCli(["pc", "cluster", "-f", "x.json", "--why"]);
    expect(status).not.toBe(0);
    expect(stderr).toMatch(/--why needs a Pod|no such file/);
  });

  test("an object reaches the parts that would differ without it", async () => {
    const { status, stdout } = await affects("vs", "other");
    expect(status).toBe(0);
    const lines = stdout.split("\n").map((line) => line.split(/ {2,}/));
    expect(lines[0]).toEqual(["PART", "NAME", "PROXIES", "WHICH"]);
    expect(lines.slice(1, -1)).toEqual([["route", "80/other.shop.svc.cluster.local:80", "1", "client.shop"]]);
    const json: unknown = JSON.parse((await affects("vs,dr", "-o", "json")).stdout);
    expect(json).toContainEqual({
      object: "DestinationRule/shop/web",
      kind: "cluster",
      name: `outbound|80|v1|${host}`,
      count: 1,
      proxies: ["client.shop"],
    });
  });

  test("of a route that is patched, only the virtual hosts that an object changes are its parts", async () => {
    const filter = `apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: { name: one, namespace: shop }
spec:
  configPatches:
  - applyTo: VIRTUAL_HOST
    match: { context: SIDECAR_OUTBOUND, routeConfiguration: { name: "80", vhost: { name: "${host}:80" } } }
    patch: { operation: MERGE, value: { per_request_buffer_limit_bytes: 65536 } }
`;
    const applied = await api.kubectl("apply -f -", filter);
    expect([applied.code, applied.err]).toEqual([0, ""]);
    const rows = async (...of: readonly string[]) =>
      (await affects(...of)).stdout
        .split("\n")
        .slice(1, -1)
        .map((line) => line.split(/ {2,}/));
    expect(await rows("envoyfilters", "one")).toEqual([["route", `80/${host}:80`, "1", "client.shop"]]);
    expect(await rows("vs", "other")).toEqual([["route", "80/other.shop.svc.cluster.local:80", "1", "client.shop"]]);
    expect((await api.kubectl("delete envoyfilter one -n shop")).code).toBe(0);
  });

  test("an object that reaches nobody, and one that is not there", async () => {
    expect((await affects("authorizationpolicy", "nobody")).stdout).toBe("No proxy is sent anything because of it.\n");
    const none = await affects("vs", "none");
    expect(none.status).toBe(1);
    expect(none.stderr).toContain('"none" not found');
    expect((await affects("vs", "other", "-o", "name")).status).toBe(2);
  });
});
