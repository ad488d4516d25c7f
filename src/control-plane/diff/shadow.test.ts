/** A shadow that is asked again and again: the same question has the same answer, whatever was asked before. */
import { expect, test } from "vitest";
import type { KubeObject } from "../../model/index.ts";
import type { DiffQuestion } from "../../read-api/index.ts";
import type { ProxyNode } from "../../xds/index.ts";
import { keyOf } from "./proposal.ts";
import { createShadow } from "./shadow.ts";

const pod: KubeObject = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "client", namespace: "shop", labels: { app: "client" } },
  ...{ spec: { containers: [{ name: "istio-proxy", args: ["proxy", "sidecar"] }] } },
  ...{ status: { phase: "Running", podIP: "10.0.0.9", podIPs: [{ ip: "10.0.0.9" }] } },
};
const policy = (provider: string, name = "ask"): KubeObject => ({
  apiVersion: "security.istio.io/v1",
  kind: "AuthorizationPolicy",
  metadata: { name, namespace: "shop" },
  ...{ spec: { action: "CUSTOM", provider: { name: provider }, rules: [{}] } },
});

function start(...objects: readonly KubeObject[]) {
  const shadow = createShadow({});
  const follow = (...changed: readonly KubeObject[]): void =>
    shadow.follow({ objects: changed, removed: [], connected: [], left: [] });
  follow(pod, ...objects);
  const warnings = async (question: DiffQuestion): Promise<readonly string[]> => {
    const answer = await shadow.ask(question);
    await shadow.rest();
    return "error" in answer ? [answer.error] : answer.warnings.map(({ object, message }) => `${object} ${message}`);
  };
  return { follow, warnings };
}
const nowhere = { objects: JSON.stringify(policy("nowhere")) };
const warned = [expect.stringContaining("there is no such provider")];

test("what cannot be rendered is told each time", async () => {
  const { warnings } = start();
  for (const _ of [1, 2, 3]) expect(await warnings(nowhere)).toEqual(warned);
});

test("of what is there without the change nothing is told, until it is mended", async () => {
  const { follow, warnings } = start(policy("nowhere"));
  expect(await warnings({ objects: JSON.stringify(policy("nowhere", "other")) })).toHaveLength(1);
  expect(await warnings(nowhere)).toEqual([]);
  const { spec: _, ...rest } = policy("");
  follow({ ...rest, ...{ spec: { rules: [{}] } } });
  expect(await warnings(nowhere)).toEqual(warned);
});

const service: KubeObject = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop" },
  ...{ spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80 }] } },
};

test("a mesh without proxies has none, and a mistake in a change is told all the same", async () => {
  const shadow = createShadow({});
  shadow.follow({ objects: [service], removed: [], connected: [], left: [] });
  expect(await shadow.ask(nowhere)).toMatchObject({ proxies: 0, notes: [] });
  expect(await shadow.ask({ ...nowhere, proxies: ["client.shop"] })).toMatchObject({ code: "not-found" });
  const wrong = JSON.stringify({ ...policy("nowhere"), ...{ spec: { action: "SOMETIMES" } } });
  expect(await shadow.ask({ objects: wrong })).toMatchObject({
    refused: [{ object: "AuthorizationPolicy/shop/ask", message: expect.stringContaining("SOMETIMES") }],
  });
});

const route = (host: string, name = "web"): KubeObject => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name, namespace: "shop" },
  ...{ spec: { hosts: [`${name}.example`], http: [{ route: [{ destination: { host } }] }] } },
});
const lost = (name: string) => ({
  ...{ code: "IST0101", level: "error", object: `VirtualService/shop/${name}` },
  field: "spec.http[0].route[0].destination.host",
  message: expect.stringContaining("not found"),
});

test("analysers are heard where they are asked, of what is there only because of the change", async () => {
  const shadow = createShadow({});
  const follow = (objects: readonly KubeObject[], removed: readonly string[] = []): void =>
    shadow.follow({ objects, removed, connected: [], left: [] });
  const analysis = async (question: DiffQuestion): Promise<unknown> => {
    const answer = await shadow.ask({ ...question, analyze: true });
    await shadow.rest();
    return "error" in answer ? answer : answer.analysis;
  };
  const applied = (...objects: readonly KubeObject[]): DiffQuestion => ({
    objects: objects.map((object) => JSON.stringify(object)).join("\n---\n"),
  });
  follow([pod, service, route("nowhere", "old"), route("web", "user")]);
  expect(await analysis(applied(route("elsewhere")))).toEqual({ count: 1, messages: [lost("web")] });
  expect(await analysis(applied(route("web")))).toEqual({ count: 0, messages: [] });
  expect(await analysis(applied(route("nowhere", "old")))).toEqual({ count: 0, messages: [] });
  // Others may be hurt by it too.
  expect(await analysis({ deleted: ["Service/shop/web"] })).toEqual({ count: 1, messages: [lost("user")] });
  const many = Array.from({ length: 120 }, (_, i) => route("elsewhere", `r-${i}`));
  expect(await analysis(applied(...many))).toEqual({
    count: 120,
    messages: many.slice(20).map(() => expect.anything()),
  });
  follow([route("elsewhere")]);
  expect(await analysis(applied(route("elsewhere")))).toEqual({ count: 0, messages: [] });
  follow([], [keyOf(route("elsewhere"))]);
  expect(await analysis(applied(route("elsewhere")))).toEqual({ count: 1, messages: [lost("web")] });
  expect(await shadow.ask(applied(route("elsewhere")))).not.toHaveProperty("analysis");
});

test("of proxies that have left nothing is kept", async () => {
  const shadow = createShadow({});
  const node: ProxyNode = {
    ...{ id: "sidecar~10.0.0.7~vm.shop~shop.svc.cluster.local", cluster: "vm", extensions: new Set<string>() },
    ...{ metadata: { NAMESPACE: "shop" }, locality: { region: "", zone: "", subZone: "" }, userAgent: "envoy 1.40.0" },
  };
  shadow.follow({ objects: [pod, service], removed: [], connected: [], left: [] });
  for (let i = 0; i < 20; i++) {
    const connected = [{ id: `c-${i}`, node, identity: undefined }];
    shadow.follow({ objects: [], removed: [], connected, left: [`c-${i - 1}`] });
    expect(await shadow.ask(nowhere)).toMatchObject({ proxies: 2 });
    await shadow.rest();
  }
  expect(shadow.kept).toBe(2);
});
