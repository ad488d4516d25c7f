import { describe, expect, test } from "vitest";
import type { DestinationRuleSpec } from "../../model/index.ts";
import { hostPolicy, subsetPolicy, withMeshDefaults } from "./effective.ts";

const pool = (maxConnections: number) => ({ tcp: { maxConnections } });

const spec: DestinationRuleSpec = {
  host: "a",
  trafficPolicy: {
    connectionPool: pool(1),
    tls: { mode: "ISTIO_MUTUAL" },
    proxyProtocol: { version: "V2" },
    portLevelSettings: [{ port: { number: 81 }, loadBalancer: { simple: "RANDOM" } }],
  },
  subsets: [
    { name: "plain" },
    { name: "own", trafficPolicy: { connectionPool: pool(2) } },
    {
      name: "port",
      trafficPolicy: {
        tls: { mode: "SIMPLE" },
        portLevelSettings: [{ port: { number: 80 }, outlierDetection: { consecutive5xxErrors: 3 } }],
      },
    },
  ],
};

const subset = (name: string, port = 80) => subsetPolicy(hostPolicy(spec, port), spec, port, name);

describe("a rule's policy", () => {
  test("holds for ports that have none of their own", () => {
    const { policy, from } = hostPolicy(spec, 80);
    expect(policy).toEqual({
      connectionPool: pool(1),
      tls: { mode: "ISTIO_MUTUAL" },
      proxyProtocol: { version: "V2" },
    });
    expect(from.get("tls")).toBe("spec.trafficPolicy.tls");
  });

  test("is replaced whole by a port's", () => {
    const { policy, from } = hostPolicy(spec, 81);
    expect(policy).toEqual({ loadBalancer: { simple: "RANDOM" } });
    expect(from.get("loadBalancer")).toBe("spec.trafficPolicy.portLevelSettings[0].loadBalancer");
  });
});

describe("a subset", () => {
  test("without policy has the rule's", () => expect(subset("plain").policy).toEqual(hostPolicy(spec, 80).policy));

  test("overrides component by component", () => {
    expect(subset("own").policy).toEqual({ ...hostPolicy(spec, 80).policy, connectionPool: pool(2) });
    expect(subset("own").from.get("connectionPool")).toBe("spec.subsets[1].trafficPolicy.connectionPool");
  });

  test("with settings for the port drops what the rule says of ports, and keeps the rest", () => {
    const { policy, from } = subset("port");
    expect(policy).toEqual({ outlierDetection: { consecutive5xxErrors: 3 }, proxyProtocol: { version: "V2" } });
    expect([...from.keys()].sort()).toEqual(["outlierDetection", "proxyProtocol"]);
  });

  test("starts from the rule's port level", () => {
    expect(subset("own", 81).policy).toEqual({ loadBalancer: { simple: "RANDOM" }, connectionPool: pool(2) });
  });
});

test("mesh-wide defaults fill blocks that are absent, never parts of a block", () => {
  const settings = { defaultTrafficPolicy: { connectionPool: pool(9), outlierDetection: { consecutive5xxErrors: 9 } } };
  expect(withMeshDefaults(hostPolicy(spec, 80), settings).policy).toMatchObject({
    connectionPool: pool(1),
    outlierDetection: { consecutive5xxErrors: 9 },
  });
  expect(withMeshDefaults(hostPolicy(undefined, 80), settings).policy).toEqual(settings.defaultTrafficPolicy);
});
