/** Through the front door: objects and a name in; what holds for it, each with its object, out. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCli } from "./testing.ts";
import { clientAndWeb, edgeGateway } from "./why/testing.ts";

const mesh = `${clientAndWeb}${edgeGateway}apiVersion: v1
kind: Pod
metadata: { name: bare, namespace: shop }
spec: { containers: [{ name: app }] }
---
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { selector: { app: web }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: { name: web, namespace: shop }
spec:
  host: web
  trafficPolicy: { connectionPool: { http: { maxRetries: 3 } } }
  subsets: [{ name: v1, labels: { version: v1 } }, { name: v2, labels: { version: v2 } }]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: web, namespace: shop }
spec:
  hosts: [web, shop.example.com]
  gateways: [mesh, edge]
  http:
    - match: [{ uri: { prefix: /new } }]
      route: [{ destination: { host: web, subset: v2 } }]
    - route:
        - { destination: { host: web, subset: v1 }, weight: 90 }
        - { destination: { host: web, subset: v2 }, weight: 10 }
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: { name: edge, namespace: shop }
spec: { selector: { app: edge }, servers: [{ port: { number: 80, name: http, protocol: HTTP }, hosts: ["*"] }] }
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: { name: strict, namespace: shop }
spec: { selector: { matchLabels: { app: web } }, mtls: { mode: STRICT }, portLevelMtls: { 9090: { mode: DISABLE } } }
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: deny-admin, namespace: shop }
spec: { selector: { matchLabels: { app: web } }, action: DENY, rules: [{ to: [{ operation: { paths: [/admin] } }] }] }
`;

describe("describe", () => {
  const dir = mkdtempSync(join(tmpdir(), "fl-describe-"));
  const file = join(dir, "mesh.all.yaml");
  beforeAll(() => writeFileSync(file, mesh));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  const show = (...args: readonly string[]) => runCli(["describe", ...args, "-f", file]);

  test("a Pod: its services, routes, encryption and policies, each with its object", async () => {
    const { status, stdout, stderr } = await show("pod", "web.shop");
    expect([status, stderr]).toEqual([0, ""]);
    for (const text of [
      "Pod: web.shop\n",
      "Service: web.shop\n",
      "   Port: http 80/HTTP targets pod port 8080\n",
      "      prefix /new: v2 (VirtualService shop/web spec.http[0].match[0])\n",
      "      all requests: v1 90 %, v2 10 % (VirtualService shop/web spec.http[1])\n",
      'DestinationRule shop/web for "web.shop.svc.cluster.local"\n   Matching subsets: v1\n      (Non-matching subsets v2)\n   Traffic Policy: connectionPool\n',
      "Exposed on gateway edge.shop as web.shop.svc.cluster.local, shop.example.com: all requests\n",
      "   Workload mTLS mode: STRICT\n   Port 9090 mTLS mode: DISABLE\nApplied PeerAuthentication:\n   PeerAuthentication shop/strict\n",
      "Authorization policies:\n   DENY AuthorizationPolicy shop/deny-admin\n",
    ])
      expect(stdout).toContain(text);
  });

  test("a service, and the Pods behind it", async () => {
    const { stdout } = await show("svc", "web", "-n", "shop");
    expect(stdout).toContain("   Subsets: v1,v2\n");
    expect(stdout).toContain("Pods: web.shop\nEffective PeerAuthentication:\n   Workload mTLS mode: STRICT\n");
    const view: unknown = JSON.parse((await show("service", "web.shop", "-o", "json")).stdout);
    expect(view).toMatchObject({
      name: "web.shop",
      endpoints: 1,
      ports: [{ port: 80, routes: [{ requests: "prefix /new", to: "v2" }, { to: "v1 90 %, v2 10 %" }] }],
      pods: [{ name: "web.shop", policies: ["DENY AuthorizationPolicy/shop/deny-admin"] }],
    });
  });

  test("a gateway, and a Pod that no Service selects", async () => {
    expect((await show("pod", "edge.shop")).stdout).toContain("Also applied:\n   Gateway shop/edge\n");
    expect((await show("po", "client.shop")).stdout).toContain("WARNING: no Service selects the Pod");
  });

  test.each([
    [["pod", "wbe.shop"], "there is no Pod wbe.shop\n  did you mean web.shop?"],
    [["pod", "bare.shop"], "Pod bare.shop has no proxy\n  it has no container named istio-proxy"],
    [["svc", "wbe.shop"], "there is no Service wbe.shop\n  did you mean web.shop?"],
  ])("%j is told", async (args, text) => {
    const { status, stdout, stderr } = await show(...args);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(text);
  });
});
