import { describe, expect, test } from "vitest";
import type { KubeObject } from "../model/index.ts";
import { coreKinds } from "./core-kinds.ts";
import { createDefinitions } from "./definitions.ts";
import { statusOf } from "./failure.ts";
import { applyManaged, type Manager, trackUpdate } from "./managed-fields.ts";

const definitions = createDefinitions();
const service = coreKinds.find((kind) => kind.kind === "Service");
const typed = { definitions, schema: service ? definitions.schemaOf(service) : {} };
const manager = (name: string, operation: Manager["operation"] = "Apply"): Manager => ({
  name,
  operation,
  apiVersion: "v1",
  subresource: "",
  time: "2026-01-01T00:00:00Z",
});
const object = (spec: object, labels?: Record<string, string>): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "s", ...(labels ? { labels } : {}) },
  spec,
});
const apply = (live: KubeObject | undefined, wanted: KubeObject, name: string, force = false): Promise<KubeObject> =>
  applyManaged(typed, live, wanted, manager(name), force);
const port = (number: number, name: string): object => ({ port: number, protocol: "TCP", name });

describe("server-side apply", async () => {
  test("two managers own items of one list side by side", async () => {
    const first = await apply(undefined, object({ ports: [port(80, "a")] }), "one");
    const both = await apply(first, object({ ports: [port(81, "b")] }), "two");
    expect(both["spec"]).toEqual({ ports: [port(80, "a"), port(81, "b")] });
    const without = await apply(both, object({}), "two");
    expect(without["spec"]).toEqual({ ports: [port(80, "a")] });
  });

  test("an item is the same with and without its defaulted key", async () => {
    const first = await apply(undefined, object({ ports: [port(80, "a")] }), "one");
    const again = await apply(first, object({ ports: [{ port: 80, name: "a", targetPort: 8080 }] }), "two");
    expect(again["spec"]).toEqual({ ports: [{ ...port(80, "a"), targetPort: 8080 }] });
  });

  test("the same value is shared without conflict, another is one", async () => {
    const first = await apply(undefined, object({ type: "ClusterIP" }), "one");
    await apply(first, object({ type: "ClusterIP" }), "two");
    await expect(apply(first, object({ type: "NodePort" }), "two")).rejects.toThrow('conflict with "one": .spec.type');
    expect((await apply(first, object({ type: "NodePort" }), "two", true))["spec"]).toEqual({ type: "NodePort" });
  });

  test("an update takes what it changes, so a later apply conflicts with it", async () => {
    const first = await apply(undefined, object({ type: "ClusterIP", selector: { app: "x" } }), "one");
    const updated = await trackUpdate(
      typed,
      first,
      { ...first, spec: { type: "NodePort", selector: { app: "x" } } },
      manager("editor", "Update"),
    );
    await expect(apply(updated, object({ type: "ClusterIP", selector: { app: "x" } }), "one")).rejects.toThrow(
      'conflict with "editor"',
    );
    await apply(updated, object({ selector: { app: "y" } }), "one");
  });

  test("what a manager no longer names goes, unless another owns it", async () => {
    const first = await apply(undefined, object({}, { a: "1", b: "1" }), "one");
    const shared = await apply(first, object({}, { b: "1" }), "two");
    const left = await apply(shared, object({}), "one");
    expect(left.metadata.labels).toEqual({ b: "1" });
  });
});

test("ever more managers of a large object are refused, and told of some conflicts", async () => {
  const labels = (value: string) => Object.fromEntries(Array.from({ length: 16_000 }, (_, i) => [`k${i}`, value]));
  let live: KubeObject | undefined;
  for (let i = 0; i < 8; i++) live = await apply(live, object({}, labels("x")), `m${i}`);
  await expect(apply(live, object({}, labels("x")), "m8")).rejects.toThrow("let fewer managers apply the object");
  const { code, message, details } = statusOf(
    await apply(live, object({}, labels("y")), "m8").catch((error: unknown) => error),
  );
  expect([code, message]).toEqual([409, expect.stringMatching(/^Apply failed with 128000 conflicts/)]);
  expect(details?.causes).toHaveLength(1000);
});
