import { describe, expect, test } from "vitest";
import { createGraph } from "../collections/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { KindRef } from "./kind.ts";
import { createReplica } from "./replica.ts";

const kind: KindRef = { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true };
const object = (name: string, version: number, uid = "u1"): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "n", resourceVersion: String(version), uid },
});

function setup() {
  const graph = createGraph();
  const replica = createReplica({ graph, batcher: { add: (change) => change(), flush: () => {} }, kind });
  const told: string[] = [];
  replica.objects.subscribe((key, now) => told.push(`${key} ${now?.metadata.resourceVersion ?? "gone"}`));
  const send = (type: string, value: unknown): boolean => replica.apply({ type, object: value });
  return { replica, told, send };
}

describe("replica", () => {
  test("a list comes in as its difference", () => {
    const { replica, told } = setup();
    replica.replace([object("a", 1), object("b", 2)], "2");
    told.length = 0;
    replica.replace([object("b", 2), object("c", 3)], "3");
    expect(told).toEqual(["n/a gone", "n/c 3"]);
  });

  test("repeated, early, late and senseless events converge", () => {
    const { replica, told, send } = setup();
    replica.replace([], "1");
    send("MODIFIED", object("a", 5));
    send("ADDED", object("a", 5));
    send("MODIFIED", object("a", 4));
    send("DELETED", object("b", 6));
    send("DELETED", object("b", 6));
    send("SURPRISE", object("c", 7));
    send("ADDED", { metadata: {} });
    send("ADDED", null);
    expect(told).toEqual(["n/a 5"]);
    expect(replica.version).toBe("6");
  });

  test("the same name with another uid is a new object, and its predecessor's late end does it no harm", () => {
    const { told, send } = setup();
    send("ADDED", object("a", 1, "old"));
    send("ADDED", object("a", 5, "new"));
    send("DELETED", object("a", 6, "old"));
    expect(told).toEqual(["n/a 1", "n/a gone", "n/a 5"]);
  });

  test("versions move forward only, and are compared as numbers", () => {
    const { replica, send } = setup();
    replica.replace([], "9");
    send("BOOKMARK", { metadata: { resourceVersion: "100" } });
    send("BOOKMARK", { metadata: { resourceVersion: "20" } });
    expect(replica.version).toBe("100");
  });
});
