import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lacks } from "../../test/require.ts";
import { startApi, type TestApi } from "../apiserver/testing.ts";
import { createKubeClient, type KubeClient, kubeKinds, loadKubeconfig } from "../kube/index.ts";
import { readList, readRecord } from "../lib/index.ts";
import { runCli } from "./testing.ts";

describe("an installation on an API", () => {
  let api: TestApi;
  let client: KubeClient;
  const run = (...args: readonly string[]) => runCli(args, api.dir, 60_000, { KUBECONFIG: api.kubeconfig });
  const deployment = (name: string) => client.find(kubeKinds.deployments, { name, namespace: "istio-system" });

  const readerAccount = { name: "istio-reader-service-account", namespace: "istio-system" };

  beforeAll(async () => {
    api = await startApi();
    client = createKubeClient(await loadKubeconfig({ paths: [api.kubeconfig], env: {} }));
  });
  afterAll(async () => {
    client.close();
    await api.close();
  });

  test("is applied, upgraded with the values that it has, and removed", { timeout: 300_000 }, async () => {
    const first = await run("install", "--no-wait", "--set", "pilot.env.A=b", "--profile", "demo");
    expect(first).toMatchObject({ status: 0, stderr: expect.stringContaining("Deployment istiod") });
    const { status, stderr } = await run("upgrade", "--no-wait", "--set", "global.logAsJson=true");
    expect(stderr).toContain("Deployment istiod");
    expect(status).toBe(0);
    const spec = JSON.stringify((await deployment("istiod"))?.spec);
    expect(spec).toContain('"name":"A","value":"b"');
    expect(spec).toContain("--log_as_json");
    expect(spec).toContain('"memory":"100Mi"');
    const canary = await run("install", "--no-wait", "--revision", "canary");
    expect(canary.status).toBe(0);
    expect((await run("tag", "set", "prod", "--revision", "canary")).status).toBe(0);
    expect(JSON.parse((await run("tag", "list", "-o", "json")).stdout)).toContainEqual({
      tag: "prod",
      revision: "canary",
    });
    expect((await run("tag", "set", "prod", "--revision", "default")).stderr).toContain("prod means revision canary");
    expect((await run("tag", "set", "prod", "--revision", "none")).stderr).toContain("there is no revision none");
    expect((await run("tag", "set", "prod", "--revision", "default", "--overwrite")).status).toBe(0);
    expect((await run("tag", "list")).stdout).toMatch(/^TAG +REVISION *\nprod +default/);
    const tagService = { name: "istiod-revision-tag-prod", namespace: "istio-system" };
    expect((await client.find(kubeKinds.services, tagService))?.spec).toMatchObject({
      selector: { app: "istiod", istio: "pilot" },
    });
    expect((await run("tag", "remove", "prod")).status).toBe(0);
    expect((await run("tag", "list")).stdout).toBe("");
    expect(await client.find(kubeKinds.services, tagService)).toBeUndefined();
    const selects = async (name: string): Promise<string> =>
      JSON.stringify(await client.find(kubeKinds.mutatingWebhooks, { name }));
    expect(await run("tag", "set", "default", "--revision", "canary")).toMatchObject({ status: 0 });
    expect(await selects("istio-sidecar-injector")).not.toContain('"istio-injection"');
    expect(await selects("istio-revision-tag-default")).toContain('"istio-injection"');
    const validator = await client.find(kubeKinds.validatingWebhooks, { name: "istiod-default-validator" });
    expect(JSON.stringify(validator)).toContain('"istiod-canary"');
    // An upgrade of the unnamed one does not take it back.
    expect((await run("upgrade", "--no-wait")).status).toBe(0);
    expect(await selects("istio-sidecar-injector")).not.toContain('"istio-injection"');
    expect((await run("tag", "remove", "default")).stderr).toContain("tag set default --revision default");
    expect((await run("tag", "set", "default", "--revision", "default")).status).toBe(0);
    expect(await selects("istio-revision-tag-default")).toContain('"name":"istiod"');
    expect((await run("tag", "remove", "default")).status).toBe(0);
    const reader = () => client.find(kubeKinds.serviceAccounts, readerAccount);
    expect(await reader()).toBeDefined();
    expect((await run("tag", "set", "default", "--revision", "canary")).status).toBe(0);
    const gone = await run("uninstall", "--revision", "canary");
    expect(gone).toMatchObject({ status: 0, stderr: expect.stringContaining("tag set default --revision default") });
    expect((await run("tag", "set", "default", "--revision", "default")).status).toBe(0);
    expect(await reader()).toBeDefined();
    expect(await deployment("istiod-canary")).toBeUndefined();
    expect(await deployment("istiod")).toBeDefined();
    expect((await run("uninstall", "--purge")).status).toBe(2);
    expect((await run("uninstall", "--revision", "default")).stderr).toContain("Deployment istiod removed");
    expect(await reader()).toBeUndefined();
    expect((await run("upgrade", "--no-wait")).stderr).toContain("nothing is installed");
  });

  test("leaves what it says when it is removed, and nothing else", async () => {
    expect((await run("install", "--no-wait")).status).toBe(0);
    // What a control plane makes while it runs.
    const map = (name: string, namespace: string, metadata: object) =>
      client.create(kubeKinds.configMaps, {
        ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, ...metadata }, data: {} },
      });
    await map("istio-ca-root-cert", "default", { labels: { "istio.io/config": "true" } });
    await map("istio-leader", "istio-system", { annotations: { "control-plane.alpha.kubernetes.io/leader": "{}" } });
    await map("own", "istio-system", {});
    const metadata = { name: "istio-ca-secret", namespace: "istio-system" };
    await client.create(kubeKinds.secrets, { apiVersion: "v1", kind: "Secret", metadata, data: {} });
    const { stderr } = await run("uninstall", "--revision", "default");
    expect(stderr).toMatch(
      /left as they are: namespace istio-system; Secret istio-system\/istio-ca-secret, .*; ConfigMap istio-ca-root-cert in 1 namespaces; \d+ resource definitions with their objects\n$/,
    );
    expect((await run("install", "--no-wait")).status).toBe(0);
    const purged = await run("uninstall", "--purge", "-y");
    expect(purged.stderr).toMatch(
      /left as they are: namespace istio-system; Secret istio-system\/istio-ca-secret, [^;]*\n$/,
    );
    const { items } = await client.list(kubeKinds.configMaps, { namespace: "istio-system" });
    expect(items.map((item) => item.metadata.name)).toEqual(["own"]);
    expect(
      (await client.list(kubeKinds.definitions)).items.filter((item) => item.metadata.name.endsWith(".istio.io")),
    ).toEqual([]);
    await client.delete(kubeKinds.secrets, metadata);
  });

  test("leaves the account that Istio's installation made to it", async () => {
    const labels = { app: "istio-reader", release: "istio-base" };
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { ...readerAccount, labels } };
    await client.create(kubeKinds.serviceAccounts, account);
    expect((await run("install", "--no-wait", "--revision", "beside")).status).toBe(0);
    expect((await run("uninstall", "--revision", "beside")).status).toBe(0);
    expect((await client.find(kubeKinds.serviceAccounts, readerAccount))?.metadata.labels).toEqual(labels);
    await client.delete(kubeKinds.serviceAccounts, readerAccount);
  });

  test("is not put over another control plane unless asked, and then keeps the mesh's settings", {
    timeout: 300_000,
  }, async () => {
    const container = { name: "discovery", image: "istio/pilot:1", env: [{ name: "OLD", value: "1" }] };
    await client.create(kubeKinds.deployments, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "istiod", namespace: "istio-system", labels: { app: "istiod" } },
      spec: {
        selector: { matchLabels: { istio: "pilot" } },
        template: { metadata: { labels: { istio: "pilot" } }, spec: { containers: [container] } },
      },
    });
    const metadata = { name: "istio", namespace: "istio-system" };
    await client.delete(kubeKinds.configMaps, metadata).catch(() => {});
    await client.create(kubeKinds.configMaps, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata,
      data: { mesh: "trustDomain: theirs\n" },
    });
    const refused = await run("install", "--no-wait");
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain("--in-place");
    expect((await run("install", "--no-wait", "--in-place")).status).toBe(0);
    const template = readRecord(readRecord((await deployment("istiod"))?.spec).template);
    const [only] = readList(readRecord(template.spec).containers).map(readRecord);
    expect(only?.image).toMatch(/fairlead/);
    expect(JSON.stringify(only)).not.toContain("OLD");
    const kept = await client.get(kubeKinds.configMaps, metadata);
    expect(readRecord(kept.data).mesh).toBe("trustDomain: theirs\n");
  });

  test("a name that no object can have is refused before anything is done", async () => {
    const wrong = [
      ["install", "--no-wait", "--revision", "a/b"],
      ["install", "--no-wait", "--revision", "a".repeat(57)],
      ["install", "--no-wait", "--istioNamespace", "../kube-system"],
      ["manifest", "generate", "--revision", "a\nb: c"],
      ["tag", "set", "../x", "--revision", "default"],
      ["tag", "remove", "a,b"],
      ["uninstall", "--revision", "a,b"],
      // A script's variable that was never set: not every revision.
      ["uninstall", "--revision", ""],
      ["tag", "remove", ""],
    ];
    for (const args of wrong) expect(await run(...args), args.join(" ")).toMatchObject({ status: 2, stdout: "" });
  });

  test("a wrong value is refused with the right one", async () => {
    const file = join(api.dir, "values.yaml");
    writeFileSync(file, "global: {proxi: {logLevel: debug}}\n");
    const { status, stderr } = await run("install", "--no-wait", "-f", file);
    expect(status).toBe(2);
    expect(stderr).toContain("global.proxi: there is no such value; did you mean global.proxy?");
  });

  test.skipIf(lacks("kubectl"))("kubectl takes the manifest", { timeout: 300_000 }, async () => {
    const { stdout } = await run("manifest", "generate", "--profile", "stable", "--set", "revisionTags={prod}");
    const kubectl = await api.kubectl("apply --server-side --force-conflicts --dry-run=server -f -", stdout);
    // The API says of workloads that nothing runs them here.
    expect(kubectl.err.split("\n").filter((line) => line !== "" && !line.startsWith("Warning: "))).toEqual([]);
    expect(kubectl.code).toBe(0);
  });
});
