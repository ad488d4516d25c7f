import { expect, test } from "vitest";
import { overlay } from "./overlay.ts";
import { kubeType } from "./types.ts";

const container = kubeType("io.k8s.api.core.v1.Container");

test("of two ports with the same number the first is changed, as Kubernetes' strategic merge has it", () => {
  const own = [
    { containerPort: 15020, protocol: "SCTP", hostPort: 8080 },
    { containerPort: 15020, name: "grpc" },
  ];
  expect(overlay(container, { name: "istio-proxy", ports: own }, { name: "istio-proxy", ports: own })).toEqual({
    name: "istio-proxy",
    ports: [
      { containerPort: 15020, protocol: "SCTP", hostPort: 8080, name: "grpc" },
      { containerPort: 15020, name: "grpc" },
    ],
  });
});

test("items keep the order that Kubernetes gives them", () => {
  const env = (...names: readonly string[]) => names.map((name) => ({ name }));
  const merge = (target: readonly object[], patch: readonly object[]) =>
    (overlay(container, { env: target }, { env: patch }).env as { name: string }[]).map(({ name }) => name).join("");
  expect(merge(env("a", "b", "c", "d"), env("d", "b", "x"))).toBe("acdbx");
  expect(merge(env("a", "b", "c"), [{ name: "b", $patch: "delete" }, ...env("y", "b")])).toBe("yabc");
  expect(merge(env("a", "b"), [{ $patch: "replace" }, ...env("c", "a")])).toBe("ca");
});

test("long lists are not compared each with each", () => {
  let reads = 0;
  const items = (prefix: string) =>
    Array.from({ length: 2000 }, (_, i) => ({
      get name() {
        reads++;
        return `${prefix}${i}`;
      },
    }));
  const { env } = overlay(container, { env: items("a") }, { env: [...items("b"), ...items("a")] });
  expect(env).toHaveLength(4000);
  expect(reads).toBeLessThan(100_000);
});
