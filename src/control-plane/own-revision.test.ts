import { expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import { createMemorySource } from "../kube/index.ts";
import type { KubeObject } from "../model/index.ts";
import { createOwnRevision } from "./own-revision.ts";
import { watchObjects } from "./watched-kinds.ts";

const admission = "admissionregistration.k8s.io";
const object = (kind: string, name: string, labels: Readonly<Record<string, string>> = {}): KubeObject => ({
  apiVersion: kind === "Namespace" ? "v1" : `${admission}/v1`,
  kind,
  metadata: { name, labels },
});
const tag = (name: string, revision: string): KubeObject =>
  object("MutatingWebhookConfiguration", `istio-revision-tag-${name}`, {
    "istio.io/tag": name,
    "istio.io/rev": revision,
  });
const gateway = (namespace: string, revision?: string): KubeObject => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "Gateway",
  metadata: {
    name: "g",
    ...(namespace === "" ? {} : { namespace }),
    ...(revision === undefined ? {} : { labels: { "istio.io/rev": revision } }),
  },
});

function ownOf(revision: string, ...others: readonly KubeObject[]) {
  const graph = createGraph();
  const objects = [object("Namespace", "plain"), object("Namespace", "named", { "istio.io/rev": "canary" }), ...others];
  const watched = watchObjects(createMemorySource({ graph, objects }));
  return createOwnRevision({
    graph,
    revision,
    namespaces: watched.objects("", "Namespace"),
    mutating: watched.objects(admission, "MutatingWebhookConfiguration"),
    validating: watched.objects(admission, "ValidatingWebhookConfiguration"),
  });
}

test("an object is its label's, else its namespace's, else the default revision's", () => {
  const [unnamed, canary] = [ownOf(""), ownOf("canary")];
  const owners = (of: KubeObject): readonly boolean[] => [unnamed(of), canary(of)];
  expect(owners(gateway("plain"))).toEqual([true, false]);
  expect(owners(gateway("named"))).toEqual([false, true]);
  expect(owners(gateway("named", "default"))).toEqual([true, false]);
  expect(owners(gateway("plain", "canary"))).toEqual([false, true]);
  expect(owners(gateway("plain", "third"))).toEqual([false, false]);
  expect(owners(gateway(""))).toEqual([true, true]);
});

test("a tag is a name of its revision, and that of the default tells whose the rest is", () => {
  const canary = ownOf("canary", tag("prod", "canary"), tag("test", "third"));
  expect(canary(gateway("plain", "prod"))).toBe(true);
  expect(canary(gateway("plain", "test"))).toBe(false);
  expect(ownOf("canary", tag("default", "canary"))(gateway("plain"))).toBe(true);
  const validator = object("ValidatingWebhookConfiguration", "istiod-default-validator", { "istio.io/rev": "canary" });
  expect(ownOf("canary", validator)(gateway("plain"))).toBe(true);
  expect(ownOf("canary", validator, tag("default", "third"))(gateway("plain"))).toBe(false);
});
