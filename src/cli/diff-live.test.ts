/** `diff` on the objects of an API: what is there is read, what kubectl applied last time counts, and nothing is written. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { startApi, type TestApi } from "../apiserver/testing.ts";
import { runCli } from "./testing.ts";

const routes = (more: string): string => `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: { name: web, namespace: shop }
spec:
  hosts: [web]
  http: [{ ${more}route: [{ destination: { host: web } }] }]
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
apiVersion: v1
kind: Service
metadata: { name: web, namespace: shop }
spec: { selector: { app: web }, ports: [{ name: http, port: 80 }] }
---
${routes("timeout: 5s, ")}`;

describe.skipIf(lacks("kubectl"))("diff, on an API", () => {
  const dir = mkdtempSync(join(tmpdir(), "fl-diff-live-"));
  let api: TestApi;
  beforeAll(async () => {
    api = await startApi();
    const applied = await api.kubectl("apply -f -", objects);
    expect([applied.code, applied.err]).toEqual([0, ""]);
    const status = JSON.stringify({ status: { phase: "Running", podIP: "10.0.0.9", podIPs: [{ ip: "10.0.0.9" }] } });
    const patched = await api.kubectl(`patch pod client -n shop --subresource=status --type=merge -p '${status}'`);
    expect([patched.code, patched.err]).toEqual([0, ""]);
  });
  afterAll(async () => {
    rmSync(dir, { recursive: true, force: true });
    await api.close();
  });
  const diff = async (text: string, ...more: readonly string[]) => {
    const file = join(dir, "change.yaml");
    writeFileSync(file, text);
    return runCli(["diff", "--kubeconfig", api.kubeconfig, "-f", file, ...more], dir);
  };

  test("a field that the file no longer has would go; the object stays as it is", async () => {
    const version = "get vs web -n shop -o jsonpath={.metadata.resourceVersion}";
    const { out: before } = await api.kubectl(version);
    const { status, stdout, stderr } = await diff(routes(""));
    expect([status, stderr]).toEqual([1, ""]);
    expect(stdout).toContain("  web: timeout from 5s to 0s for client.shop\n");
    expect((await api.kubectl(version)).out).toBe(before);
  });

  test("what is there already, with what the API adds, is no change", async () => {
    const service = objects.split("---\n")[2] ?? "";
    const { status, stdout } = await diff(`${service}---\n${routes("timeout: 5s, ")}`);
    expect(status).toBe(0);
    expect(stdout).toContain("nothing changes for the one proxy");
    expect(stdout).toContain("Service shop/web: is so already");
  });

  test("an object that is deleted", async () => {
    const { status, stdout } = await runCli(
      ["diff", "--kubeconfig", api.kubeconfig, "--delete", "vs/web", "-n", "shop", "-o", "json"],
      dir,
    );
    expect(status).toBe(1);
    const { changes } = JSON.parse(stdout) as { readonly changes: readonly { readonly text: string }[] };
    expect(changes.map(({ text }) => text)).toContain("timeout from 5s to 0s");
  });

  test("an API that is not there is named, with status 2", async () => {
    const { status, stderr } = await runCli(["diff", "--kubeconfig", join(dir, "none"), "-f", "x.yaml"], dir);
    expect(status).toBe(2);
    expect(stderr).toContain("cannot read");
  });
});
