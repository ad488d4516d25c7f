/** `why` on the objects of an API: the same answers as from files, with resource versions instead of lines. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { startApi, type TestApi } from "../apiserver/testing.ts";
import { runCli } from "./testing.ts";

const pod = (name: string, app: string) => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, namespace: shop, labels: { app: ${app}, security.istio.io/tlsMode: istio } }
spec: { serviceAccountName: ${app}, containers: [{ name: app, image: x }, { name: istio-proxy, image: x, args: [proxy, sidecar] }] }
---`;

const objects = `
apiVersion: v1
kind: Namespace
metadata: { name: shop }
---${pod("client", "client")}${pod("web-1", "web")}
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { selector: { app: web }, ports: [{ name: http, port: 80, targetPort: 8080 }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: web-a, namespace: shop, labels: { kubernetes.io/service-name: web } }
addressType: IPv4
ports: [{ name: http, port: 8080, protocol: TCP }]
endpoints: [{ addresses: [10.0.0.1], conditions: { ready: true }, targetRef: { kind: Pod, name: web-1, namespace: shop } }]
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: { name: deny-admin, namespace: shop }
spec: { action: DENY, rules: [{ to: [{ operation: { paths: [/admin] } }] }] }
`;

describe.skipIf(lacks("kubectl"))("why, on an API", () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startApi();
    const applied = await api.kubectl("apply -f -", objects);
    expect([applied.code, applied.err]).toEqual([0, ""]);
    for (const [name, ip] of [
      ["client", "10.0.0.9"],
      ["web-1", "10.0.0.1"],
    ]) {
      const status = JSON.stringify({ status: { phase: "Running", podIP: ip, podIPs: [{ ip }] } });
      const patched = await api.kubectl(`patch pod ${name} -n shop --subresource=status --type=merge -p '${status}'`);
      expect([patched.code, patched.err]).toEqual([0, ""]);
    }
  });
  afterAll(() => api.close());

  test("objects are shown with their resource version", async () => {
    const { out: version } = await api.kubectl(
      "get authorizationpolicy deny-admin -n shop -o jsonpath={.metadata.resourceVersion}",
    );
    const { status, stdout, stderr } = await runCli([
      "why",
      "--kubeconfig",
      api.kubeconfig,
      "-n",
      "shop",
      "client",
      "web/admin",
    ]);
    expect(stderr).toBe("");
    expect(status).toBe(1);
    expect(stdout.split("\n")[0]).toBe(
      `403: DENY rule 0 of AuthorizationPolicy shop/deny-admin, spec.rules[0].to[0].operation.paths[0] (resourceVersion ${version})`,
    );
    expect((await runCli(["why", "--kubeconfig", api.kubeconfig, "client.shop", "web/x"])).stdout).toMatch(
      /^reaches 10\.0\.0\.1:8080/,
    );
  });

  test("no API is told in a line", async () => {
    const { status, stderr } = await runCli(["why", "--kubeconfig", "/nowhere", "a", "b"]);
    expect(status).toBe(1);
    expect(stderr).toContain("/nowhere");
    expect(stderr).not.toContain("    at ");
  });
});
