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
