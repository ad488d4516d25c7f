/** Admission through a control plane that runs with the chart's own roles: injection, validation, and who keeps the configurations right. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { kubeKinds } from "../../src/kube/index.ts";
import { readList, readRecord, readText } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { lacks } from "../require.ts";
import { type Cluster, collectionOf } from "./cluster.ts";
import { openMesh } from "./mesh.ts";
import type { Plane } from "./plane.ts";

let cluster: Cluster;
let plane: Plane;
let namespace = "";
const soon = { timeout: 300_000 };
const bundles = (object: KubeObject | undefined): readonly string[] =>
  readList(object?.webhooks).map((webhook) => readText(readRecord(readRecord(webhook).clientConfig).caBundle));

beforeAll(async () => {
  ({ cluster, plane, namespace } = await openMesh());
  await plane.answering();
}, 300_000);
afterAll(() => cluster.close());

const pod = (name: string, metadata: object = {}, spec: object = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace, ...metadata },
  // Said here: on a cluster without kubelets nothing else may fill it in.
  spec: { serviceAccountName: "default", containers: [{ name: "app", image: "app:1" }], ...spec },
});
const containers = (object: KubeObject | undefined): readonly string[] => {
  const spec = readRecord(object?.spec);
  return [...readList(spec.initContainers), ...readList(spec.containers)].map((one) => readText(readRecord(one).name));
};

describe("injection", () => {
  test("a Pod in a namespace of the revision gets its proxy", async () => {
    const made = await cluster.create(pod("injected"));
    expect(containers(made)).toEqual(expect.arrayContaining(["istio-init", "istio-proxy", "app"]));
    expect(made.metadata.annotations?.["istio.io/rev"]).toBe(plane.revision);
    expect(made.metadata.annotations).toHaveProperty(["sidecar.istio.io/status"]);
  });

  test.each([
    ["that refuses", { labels: { "sidecar.istio.io/inject": "false" } }, {}],
    ["in the host's network", {}, { hostNetwork: true }],
  ])("a Pod %s is left as it is", async (name, metadata, spec) => {
    const made = await cluster.create(pod(name.replaceAll(/[^a-z]/g, "-"), metadata, spec));
    expect(containers(made)).toEqual(["app"]);
    expect(made.metadata.annotations ?? {}).toEqual({});
  });

  test("a Pod elsewhere that names the revision is injected, one that does not is not", async () => {
    const elsewhere = await cluster.namespace();
    const named = await cluster.create(pod("named", { namespace: elsewhere, labels: plane.labels }));
    expect(containers(named)).toContain("istio-proxy");
    expect(containers(await cluster.create(pod("plain", { namespace: elsewhere })))).toEqual(["app"]);
  });

  test("a bad annotation is refused with its name, and nothing is stored", async () => {
    const bad = pod("bad", { annotations: { "sidecar.istio.io/proxyCPU": "lots" } });
    const answer = await cluster.call("POST", collectionOf(bad), bad);
    expect(answer.code).toBeGreaterThanOrEqual(400);
    expect(answer.body.message).toMatch(/admission webhook.*denied the request.*sidecar\.istio\.io\/proxyCPU/s);
    expect(await cluster.find(bad)).toBeUndefined();
  });

  test("a dry run shows the proxy and stores nothing", async () => {
    const dry = pod("dry");
    const answer = await cluster.call("POST", `${collectionOf(dry)}?dryRun=All`, dry);
    expect(containers(answer.body as KubeObject)).toContain("istio-proxy");
    expect(await cluster.find(dry)).toBeUndefined();
  });

  test("what was injected is accepted again as it is", async () => {
    const first = await cluster.create(pod("first"));
    const { labels = {}, annotations = {} } = first.metadata;
    const again = await cluster.create({ ...first, metadata: { name: "again", namespace, labels, annotations } });
    expect(containers(again).toSorted()).toEqual(containers(first).toSorted());
  });
});

describe("validation", () => {
  const virtualService = (name: string, http: readonly object[], more: object = {}): KubeObject => ({
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name, namespace, labels: plane.labels },
    spec: { hosts: ["a.example.com"], http, ...more },
  });
  const route = (host: string): object => ({ route: [{ destination: { host } }] });

  test("a bad object is refused in the words of the control plane, a good one is stored", async () => {
    const bad = virtualService("bad", [
      { ...route("b"), mirrors: [{ destination: { host: "c" }, percentage: { value: 200 } }] },
    ]);
    const answer = await cluster.call("POST", collectionOf(bad), bad);
    expect(answer.body.message).toContain('admission webhook "rev.validation.istio.io" denied the request');
    expect(await cluster.find(bad)).toBeUndefined();
    expect((await cluster.create(virtualService("good", [route("b")]))).metadata.uid).toBeDefined();
  });

  test.skipIf(lacks("kubectl"))("what an object names and is not there is a warning to who writes it", async () => {
    const object = virtualService("warned", [route("nobody.elsewhere.svc.cluster.local")], { gateways: ["absent"] });
    const { code, err } = await cluster.kubectl("apply -f -", JSON.stringify(object));
    expect(code).toBe(0);
    expect(err).toMatch(/^Warning: .*absent/m);
  });

  test("an object of no revision is none of our business", async () => {
    const bad = { ...virtualService("foreign", [{}]), metadata: { name: "foreign", namespace } };
    const answer = await cluster.call("POST", collectionOf(bad), bad);
    expect(String(answer.body.message ?? "")).not.toContain("rev.validation.istio.io");
  });
});

describe("the configurations", () => {
  test.each(["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] as const)(
    "%s: a bundle that somebody overwrites is put right",
    async (kind) => {
      const before = await plane.webhooks(kind);
      if (!before) throw new Error(`there is no ${kind}`);
      const wrong = Buffer.from(
        "-----BEGIN CERTIFICATE-----\nMIIBdDCCARmgAwIBAgIBATAKBggqhkjOPQQDAjAPMQ0wCwYDVQQDEwR0ZXN0MB4X\n-----END CERTIFICATE-----\n",
      ).toString("base64");
      const ref = kind.startsWith("M") ? kubeKinds.mutatingWebhooks : kubeKinds.validatingWebhooks;
      const webhooks = readList(before.webhooks).map((webhook) => ({
        ...readRecord(webhook),
        clientConfig: { ...readRecord(readRecord(webhook).clientConfig), caBundle: wrong },
      }));
      // What is no certificate the API itself may refuse; to empty it is as bad.
      await cluster.admin
        .patch(ref, before.metadata, "merge", { webhooks })
        .catch(() =>
          cluster.admin.patch(ref, before.metadata, "json", [
            { op: "remove", path: "/webhooks/0/clientConfig/caBundle" },
          ]),
        );
      await expect.poll(async () => bundles(await plane.webhooks(kind)), soon).toEqual(bundles(before));
    },
  );

  test("matchConditions decide whether the webhook is asked; what cannot be told is refused", async () => {
    const configuration = await plane.webhooks("MutatingWebhookConfiguration");
    const [first] = readList(configuration?.webhooks).map(readRecord);
    const conditioned = (name: string, expression: string): KubeObject => ({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration",
      metadata: { name: `conditions-${name}-${cluster.id}` },
      webhooks: [
        {
          ...first,
          name: `${name}.sidecar-injector.istio.io`,
          namespaceSelector: { matchLabels: { conditions: `${name}-${cluster.id}` } },
          objectSelector: {},
          matchConditions: [{ name: "only", expression }],
        },
      ],
    });
    const inNamespace = async (name: string, expression: string): Promise<string> => {
      await cluster.create(conditioned(name, expression));
      return cluster.namespace({ conditions: `${name}-${cluster.id}` });
    };
    const asked = await inNamespace(
      "asked",
      "request.operation == 'CREATE' && has(object.metadata.labels) && object.metadata.labels['wants'] == 'proxy'",
    );
    const wants = { labels: { wants: "proxy" } };
    await expect
      .poll(async () => {
        const one = await cluster.call(
          "POST",
          `/api/v1/namespaces/${asked}/pods?dryRun=All`,
          pod("x", { namespace: asked, ...wants }),
        );
        return containers(one.body as KubeObject);
      }, soon)
      .toContain("istio-proxy");
    expect(containers(await cluster.create(pod("no", { namespace: asked, labels: { wants: "none" } })))).toEqual([
      "app",
    ]);
    const broken = await inNamespace("broken", "object.metadata.labels['missing'] == 'x'");
    await expect
      .poll(
        () => cluster.call("POST", `/api/v1/namespaces/${broken}/pods`, pod("y", { namespace: broken, ...wants })),
        soon,
      )
      .toMatchObject({ code: 403, body: { message: expect.stringContaining("no such key: missing") } });
    const unreadable = conditioned("unreadable", "object.metadata.(");
    expect(
      await cluster.call("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", unreadable),
    ).toMatchObject({
      code: 422,
      body: { message: expect.stringContaining("webhooks[0].matchConditions[0].expression: Invalid value") },
    });
  });
});

test("nothing that the control plane did was refused to it", () => {
  expect(
    plane.log.filter((line) => /forbidden|cannot (get|list|watch|create|update|patch|delete)/i.test(line)),
  ).toEqual([]);
});
