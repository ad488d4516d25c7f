import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import { ClusterLoadAssignmentSchema } from "../../gen/envoy/config/endpoint/v3/endpoint_pb.js";
import { endpointOdds } from "./endpoint.ts";

const endpoint = (address: string, more: JsonObject = {}): JsonObject => ({
  endpoint: { address: { socketAddress: { address, portValue: 80 } } },
  healthStatus: "HEALTHY",
  ...more,
});
const sick = { healthStatus: "UNHEALTHY" };

function odds(endpoints: readonly JsonObject[], cluster: JsonObject = {}): Readonly<Record<string, number>> {
  const found = endpointOdds(
    fromJson(ClusterLoadAssignmentSchema, { endpoints: [...endpoints] }),
    fromJson(ClusterSchema, cluster),
  );
  return Object.fromEntries(
    found.endpoints.map(({ label, odds: share }) => [label.split(":")[0], Math.round(share * 1000) / 1000]),
  );
}

test("equal endpoints share alike, weights count, the unhealthy get nothing", () => {
  expect(odds([{ lbEndpoints: [endpoint("a"), endpoint("b")] }])).toEqual({ a: 0.5, b: 0.5 });
  expect(odds([{ lbEndpoints: [endpoint("a", { loadBalancingWeight: 3 }), endpoint("b")] }])).toEqual({
    a: 0.75,
    b: 0.25,
  });
  expect(odds([{ lbEndpoints: [endpoint("a"), endpoint("b", sick)] }])).toEqual({ a: 1 });
});

test("a lower priority gets what the ones before cannot take", () => {
  const groups = (first: readonly JsonObject[]) => [
    { lbEndpoints: [...first] },
    { lbEndpoints: [endpoint("z")], priority: 1 },
  ];
  expect(odds(groups([endpoint("a"), endpoint("b")]))).toEqual({ a: 0.5, b: 0.5 });
  // Half of it healthy takes 70 % (times 1.4).
  expect(odds(groups([endpoint("a"), endpoint("b", sick)]))).toEqual({ a: 0.7, z: 0.3 });
  expect(odds(groups([endpoint("a", sick)]))).toEqual({ z: 1 });
});

test("weights of localities count only where the cluster says so", () => {
  const groups = [
    { locality: { region: "r1" }, loadBalancingWeight: 80, lbEndpoints: [endpoint("a"), endpoint("b")] },
    { locality: { region: "r2" }, loadBalancingWeight: 20, lbEndpoints: [endpoint("c")] },
  ];
  expect(odds(groups)).toEqual({ a: 0.333, b: 0.333, c: 0.333 });
  expect(odds(groups, { commonLbConfig: { localityWeightedLbConfig: {} } })).toEqual({ a: 0.4, b: 0.4, c: 0.2 });
});

test("with nobody healthy all are tried, unless that was turned off", () => {
  const groups = [{ lbEndpoints: [endpoint("a", sick), endpoint("b", sick)] }];
  expect(odds(groups)).toEqual({ a: 0.5, b: 0.5 });
  expect(odds(groups, { commonLbConfig: { healthyPanicThreshold: { value: 0 } } })).toEqual({});
});
