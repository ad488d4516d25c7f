import { describe, expect, test } from "vitest";
import { coreKinds } from "./core-kinds.ts";
import { createDefinitions } from "./definitions.ts";
import { strategicMerge } from "./patch-strategic.ts";

const definitions = createDefinitions();
const pod = coreKinds.find((kind) => kind.kind === "Pod");
const schema = pod ? definitions.schemaOf(pod) : {};
const containers = (...items: object[]): object => ({ spec: { containers: items } });
const [a, b, c] = [
  { name: "a", image: "1" },
  { name: "b", image: "1" },
  { name: "c", image: "1" },
];

describe("strategic merge", () => {
  test.each([
    [
      "items are merged by their key",
      containers(a, b),
      containers({ name: "b", image: "2" }),
      containers(a, { name: "b", image: "2" }),
    ],
    ["an item is deleted by a directive", containers(a, b), containers({ name: "a", $patch: "delete" }), containers(b)],
    ["a list is replaced by a directive", containers(a, b), containers({ $patch: "replace" }, c), containers(c)],
    [
      "the order is set",
      containers(a, b),
      { spec: { "$setElementOrder/containers": [{ name: "c" }, { name: "a" }, { name: "b" }], containers: [c] } },
      containers(c, a, b),
    ],
    [
      "null deletes a field",
      { metadata: { labels: { x: "1", y: "2" } } },
      { metadata: { labels: { x: null } } },
      { metadata: { labels: { y: "2" } } },
    ],
    [
      "a map is replaced by a directive",
      { metadata: { labels: { x: "1" } } },
      { metadata: { labels: { $patch: "replace", y: "2" } } },
      { metadata: { labels: { y: "2" } } },
    ],
    [
      "sets are united",
      { metadata: { finalizers: ["a"] } },
      { metadata: { finalizers: ["b"] } },
      { metadata: { finalizers: ["b", "a"] } },
    ],
    [
      "items leave a set",
      { metadata: { finalizers: ["a", "b"] } },
      { metadata: { "$deleteFromPrimitiveList/finalizers": ["a"] } },
      { metadata: { finalizers: ["b"] } },
    ],
    [
      "other lists are replaced",
      { spec: { tolerations: [{ key: "a" }] } },
      { spec: { tolerations: [{ key: "b" }] } },
      { spec: { tolerations: [{ key: "b" }] } },
    ],
    [
      "only the kept keys stay",
      { spec: { volumes: [{ name: "v", emptyDir: {} }] } },
      { spec: { volumes: [{ name: "v", $retainKeys: ["name", "hostPath"], hostPath: { path: "/" } }] } },
      { spec: { volumes: [{ name: "v", hostPath: { path: "/" } }] } },
    ],
  ])("%s", (_name, target, patch, expected) => {
    expect(strategicMerge(definitions, schema, target, patch)).toEqual(expected);
  });

  test("an item without its key is refused", () => {
    expect(() => strategicMerge(definitions, schema, containers(a), containers({ image: "2" }))).toThrow(
      "merge key name",
    );
  });
});
