/** `get` against the embedded API, with kubectl as the judge of how it should look. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { startApi, type TestApi } from "../apiserver/testing.ts";
import { runCli } from "./testing.ts";

const objects = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, labels: {app: web}}
spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, namespace: shop, labels: {app: web}}
spec: {containers: [{name: app, image: x}, {name: istio-proxy, image: proxy}]}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: web, namespace: shop}
spec: {hosts: [web], http: [{route: [{destination: {host: web}}]}]}
---
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: {name: patch, namespace: shop}
spec: {configPatches: []}
`;

describe.skipIf(lacks("kubectl"))("get prints what kubectl prints", () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startApi();
    const applied = await api.kubectl("apply -f -", objects);
    expect([applied.code, applied.err]).toEqual([0, ""]);
  });
  afterAll(() => api.close());

  /** The age may grow between the two. */
  const still = (text: string): string => text.replace(/\b\d+s(?=\s)/g, "0s").replace(/ +/g, " ");

  test.each([
    ["pods", "-A"],
    ["pods", "-A", "-o", "wide"],
    ["svc,vs", "-n", "shop"],
    ["pods", "-n", "shop", "-o", "name"],
    ["vs", "-n", "shop", "-o", "name"],
    ["envoyfilter", "-n", "shop", "-o", "name"],
    ["pod", "web-1", "-n", "shop"],
    ["pod/web-1", "-n", "shop", "-o", "yaml"],
    ["pods", "-n", "shop", "-l", "app=web"],
    ["pods", "-n", "shop", "-o", "json"],
    ["svc", "web", "-n", "shop", "-o", "json"],
    ["pods", "-n", "shop", "-o", "jsonpath={.items[*].spec.containers[*].name}"],
    ["pods", "-A", "-o", 'jsonpath={range .items[*]}{.metadata.name}={.metadata.labels}{"\\n"}{end}'],
    ["pods", "-A", "-o", 'jsonpath={.items[0].spec.containers[?(@.name=="app")].image}'],
    ["svc", "web", "-n", "shop", "-o", "jsonpath={.spec.ports[-1].port} and {.spec.selector.app}"],
  ])("get %s %s %s …", async (...args) => {
    const kubectl = await api.kubectl(`get ${args.map((arg) => `'${arg}'`).join(" ")}`);
    const ours = await runCli(["get", ...args, "--kubeconfig", api.kubeconfig]);
    expect(ours.stderr).toBe("");
    // Which quotes YAML takes is no difference.
    expect(still(ours.stdout).replaceAll("'", '"')).toBe(still(kubectl.out).replaceAll("'", '"'));
    expect(ours.status).toBe(0);
  });

  test("nothing found is no mistake, a name that does not exist is", async () => {
    const none = await runCli(["get", "pods", "-n", "empty", "--kubeconfig", api.kubeconfig]);
    expect(none).toEqual({ status: 0, stdout: "", stderr: "No resources found in empty namespace.\n" });
    const missing = await runCli(["get", "pod", "nope", "-n", "shop", "--kubeconfig", api.kubeconfig]);
    expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining('pods "nope" not found')]);
  });

  test("a template that cannot be read is wrong usage", async () => {
    const { status, stderr } = await runCli(["get", "pods", "-o", "jsonpath={.items[", "--kubeconfig", api.kubeconfig]);
    expect([status, stderr]).toEqual([2, expect.stringContaining("jsonpath")]);
  });
});
