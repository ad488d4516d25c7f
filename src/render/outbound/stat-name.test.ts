import { expect, test } from "vitest";
import { statName } from "./stat-name.ts";

const kube = { host: "a.ns.svc.cluster.local", name: "a", namespace: "ns", registry: "Kubernetes" } as const;
const port = { subset: "v1", port: 80, portName: "http", targetPort: 8080 };

test("every word of a pattern is replaced", () => {
  const pattern =
    "%SERVICE%_%SERVICE_NAME%_%SERVICE_FQDN%_%SUBSET_NAME%_%TARGET_PORT%_%SERVICE_PORT%_%SERVICE_PORT_NAME%";
  expect(statName(pattern, { service: kube, ...port })).toBe("a.ns_a_a.ns.svc.cluster.local_v1_8080_80_http");
});

test("services outside Kubernetes have no short name", () => {
  const service = { ...kube, host: "api.example.com", registry: "External" } as const;
  expect(statName("%SERVICE%/%SERVICE_NAME%", { service, ...port })).toBe("api.example.com/api.example.com");
});
