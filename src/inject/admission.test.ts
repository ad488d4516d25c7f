import jsonPatch from "fast-json-patch";
import { expect, test } from "vitest";
import { readList, readRecord } from "../lib/index.ts";
import { mergeMeshConfig } from "../model/index.ts";
import {
  createInjectSettings,
  type InjectionSources,
  openShiftIds,
  reviewInjection,
  runsNativeSidecars,
} from "./index.ts";

type Fields = Readonly<Record<string, unknown>>;

const settings = createInjectSettings({
  values: {},
  config: { neverInjectSelector: [{ matchExpressions: [{ key: "job", operator: "Exists" }] }, {}] },
  meshConfig: mergeMeshConfig({}),
  revision: "",
  compliancePolicy: "",
  annotationError: (name) => (name === "bad" ? "not so" : undefined),
});
const sources: InjectionSources = {
  settings: () => settings,
  proxyConfig: () => settings.meshConfig.defaultConfig ?? {},
  nativeSidecars: (node) => node === "new",
  annotationWarning: (name) => (name.startsWith("odd") ? `${name} is not known` : undefined),
};

const pod = (metadata: Fields = {}, spec: Fields = {}): Fields => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { generateName: "web-", ...metadata },
  spec: { containers: [{ name: "app", image: "a:1", futureField: { kept: true } }], futureList: [1], ...spec },
});

const review = (object: unknown, request: Fields = {}): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "u1", operation: "CREATE", namespace: "shop", object, ...request },
  });

async function ask(object: unknown, path = "/inject"): Promise<{ outcome: string; response: Fields; after: Fields }> {
  const { outcome, body } = await reviewInjection(review(object), path, sources);
  const response = readRecord(readRecord(JSON.parse(body)).response);
  const patch = typeof response.patch === "string" ? JSON.parse(Buffer.from(response.patch, "base64").toString()) : [];
  const after = jsonPatch.applyPatch(structuredClone(object), patch).newDocument;
  return { outcome, response, after: readRecord(after) };
}

const names = (of: Fields, list = "containers"): readonly unknown[] =>
  readList(readRecord(of.spec)[list]).map((item) => readRecord(item).name);
const proxyEnv = (of: Fields, name: string): unknown => {
  const proxy = readList(readRecord(of.spec).containers)
    .map(readRecord)
    .find((one) => one.name === "istio-proxy");
  return readList(proxy?.env)
    .map(readRecord)
    .find((one) => one.name === name)?.value;
};

test("the patch injects the Pod as the API server holds it, and leaves alone what is not known here", async () => {
  const { response, after } = await ask(pod());
  expect(response).toMatchObject({ uid: "u1", allowed: true, patchType: "JSONPatch" });
  expect(names(after)).toEqual(["app", "istio-proxy"]);
  expect(readRecord(after.spec).futureList).toEqual([1]);
  expect(readList(readRecord(after.spec).containers)[0]).toEqual({
    name: "app",
    image: "a:1",
    futureField: { kept: true },
  });
});

test("a second call changes nothing more", async () => {
  const { after } = await ask(pod());
  const again = await ask(after);
  expect(again.after).toEqual(after);
});

test.each([
  ["in the host's network", pod({}, { hostNetwork: true })],
  ["in kube-system", pod({ namespace: "kube-system" })],
  [
    "that says no",
    pod({ labels: { "sidecar.istio.io/inject": "false" }, annotations: { "sidecar.istio.io/inject": "true" } }),
  ],
  ["that a selector leaves out", pod({ labels: { job: "1" } })],
  ["that is none", { ...pod(), kind: "Gateway" }],
])("a Pod %s is left byte for byte", async (_, object) => {
  const { outcome, response } = await ask(object);
  expect(outcome).toBe("skipped");
  expect(response).toEqual({ uid: "u1", allowed: true });
});

test("a bad annotation is refused by name, an unknown one is warned of", async () => {
  const refused = await ask(pod({ annotations: { bad: "x" } }));
  expect(refused.response).toMatchObject({ allowed: false, status: { message: expect.stringContaining("'bad'") } });
  expect((await ask(pod({ annotations: { odd: "x" } }))).response).toMatchObject({
    allowed: true,
    warnings: ["odd is not known"],
  });
});

test.each([
  "",
  "{",
  "[]",
  "null",
  '{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
  review(null),
  review("x"),
])("the body %j is answered with a refusal", async (body) => {
  const { outcome, body: answer } = await reviewInjection(body, "/inject", sources);
  expect(outcome).toBe("failed");
  expect(JSON.parse(answer)).toMatchObject({ kind: "AdmissionReview", response: { allowed: false } });
});

test("of very many unknown annotations some are told of", async () => {
  const annotations = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`odd${i}`, "x"]));
  const { response } = await ask(pod({ annotations }));
  expect(response.allowed).toBe(true);
  expect(response.warnings).toHaveLength(20);
});

test("a template that is named again and again is applied once", async () => {
  let applied = 0;
  const templates = new Map(
    [...settings.templates].map(([name, template]): [string, typeof template] => [
      name,
      (input) => {
        applied++;
        return template(input);
      },
    ]),
  );
  const annotations = { "inject.istio.io/templates": Array(1000).fill("sidecar").join(",") };
  const counted = { ...sources, settings: () => ({ ...settings, templates }) };
  expect((await reviewInjection(review(pod({ annotations })), "/inject", counted)).outcome).toBe("injected");
  expect(applied).toBe(1);
});

test("the path tells cluster and network", async () => {
  const { after } = await ask(pod(), "/inject/cluster/east/net/a--slash--b/extra/1/odd");
  expect(proxyEnv(after, "ISTIO_META_CLUSTER_ID")).toBe("east");
  expect(proxyEnv(after, "ISTIO_META_NETWORK")).toBe("a/b");
  expect(proxyEnv(after, "EXTRA")).toBe("1");
  expect(readRecord(readRecord(after.metadata).labels)["topology.istio.io/network"]).toBe("a/b");
});

test("on a node that can, the proxy is a sidecar of Kubernetes' own", async () => {
  const { after } = await ask(pod({}, { nodeName: "new" }));
  expect(names(after)).toEqual(["app"]);
  expect(names(after, "initContainers")).toEqual(["istio-init", "istio-proxy"]);
});

test("a Pod of a ReplicaSet is known by its Deployment", async () => {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web-5f6", uid: "1", controller: true };
  const { after } = await ask(pod({ labels: { "pod-template-hash": "5f6" }, ownerReferences: [owner] }));
  expect(proxyEnv(after, "ISTIO_META_WORKLOAD_NAME")).toBe("web");
  expect(proxyEnv(after, "ISTIO_META_OWNER")).toBe("kubernetes://apis/apps/v1/namespaces/shop/deployments/web");
});

test("versions of kubelets and ranges of users are read", () => {
  expect(["v1.33.0", "v1.40.2-gke.1", "1.33"].every(runsNativeSidecars)).toBe(true);
  expect(["v1.32.9", "", "unknown"].some(runsNativeSidecars)).toBe(false);
  expect(openShiftIds({ "openshift.io/sa.scc.uid-range": "1000/10" })).toEqual({ proxyUser: 1009, proxyGroup: 1009 });
  const both = { "openshift.io/sa.scc.uid-range": "1-5", "openshift.io/sa.scc.supplemental-groups": "7/2,9/1" };
  expect(openShiftIds(both)).toEqual({ proxyUser: 5, proxyGroup: 8 });
  expect(openShiftIds({ "openshift.io/sa.scc.uid-range": "x" })).toEqual({});
});

test("what a Pod asks for again and again is refused", async () => {
  const env = Array.from({ length: 200 }, (_, i) => ({ name: "v", value: `${i}` }));
  const { response } = await ask(pod({}, { containers: [{ name: "istio-proxy", image: "auto", env }] }));
  expect(response.status).toEqual({ message: 'more than 100 items have the name "v"' });
});

test("a Pod with very many values, or annotations that Kubernetes would refuse, is refused", async () => {
  const values = await ask(pod({}, { futureList: Array.from({ length: 17_000 }, () => 1) }));
  expect(values.response).toMatchObject({ allowed: false, status: { message: expect.stringContaining("16384") } });
  const texts = await ask(pod({ annotations: { note: "x".repeat(263_000) } }));
  expect(texts.response).toMatchObject({ allowed: false, status: { message: expect.stringContaining("annotations") } });
});

test("the steps of a large Pod have turns of their own, those of others none", async () => {
  const pauses = async (object: unknown): Promise<number> => {
    let count = 0;
    await reviewInjection(review(object), "/inject", sources, async () => {
      count++;
    });
    return count;
  };
  const containers = Array.from({ length: 5000 }, (_, i) => ({ name: `c${i}`, image: "x" }));
  expect(await pauses(pod({}, { containers }))).toBe(3);
  expect(await pauses(pod())).toBe(0);
});
