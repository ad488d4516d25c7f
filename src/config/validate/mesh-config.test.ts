import { describe, expect, test } from "vitest";
import { mergeMeshConfig } from "../../model/index.ts";
import { decodeMeshConfig, decodeMeshNetworks, validateMeshConfig, validateMeshNetworks } from "../index.ts";

const judge = (yaml: string) => {
  const { ok = {} } = decodeMeshConfig(yaml);
  const { errors, warnings } = validateMeshConfig(mergeMeshConfig(ok));
  return {
    errors: errors.map(({ path, message }) => `${path}: ${message}`),
    warnings: warnings.map(({ message }) => message),
  };
};

describe("MeshConfig", () => {
  test("Istio's defaults are fine", () => {
    expect(judge("")).toEqual({ errors: [], warnings: [] });
  });

  test.each([
    [
      "proxyListenPort: 70000",
      "proxyListenPort: invalid proxy listen port: port number 70000 must be in the range 1..65535",
    ],
    ["connectTimeout: 2h", "connectTimeout: invalid connect timeout: time 2h must be >1ms and <1h0m0s"],
    ["trustDomain: a_b", 'trustDomain: trustDomain: trust domain name "a_b" invalid'],
    [
      "defaultConfig: {discoveryAddress: nowhere}",
      'defaultConfig.discoveryAddress: invalid discovery address: unable to split "nowhere": address nowhere: missing port in address',
    ],
    [
      "defaultConfig: {statusPort: 0}",
      "defaultConfig.statusPort: invalid status port: port number 0 must be in the range 1..65535",
    ],
    [
      "defaultConfig: {drainDuration: 1.5s}",
      "defaultConfig.drainDuration: drain time only supports durations to seconds precision",
    ],
    [
      "localityLbSetting: {distribute: [{from: a, to: {b: 50}}]}",
      "localityLbSetting.distribute[0].to: total locality weight 50 != 100",
    ],
    [
      "defaultConfig: {connectionSettings: {http2InitialStreamWindowSize: 1}}",
      "defaultConfig.connectionSettings.http2InitialStreamWindowSize: invalid connection settings: http2_initial_stream_window_size must be at least 65535",
    ],
  ])("%s", (yaml, error) => {
    expect(judge(yaml).errors).toEqual([error]);
  });

  test("a wrong provider is a warning: it may never be used", () => {
    const yaml = "extensionProviders: [{name: a, zipkin: {service: z.ns.svc.cluster.local}}]";
    expect(judge(yaml)).toEqual({
      errors: [],
      warnings: ["invalid extension provider a: port number 0 must be in the range 1..65535"],
    });
  });
});

test("MeshNetworks", () => {
  const { ok = {} } = decodeMeshNetworks(
    "networks: {n1: {endpoints: [{fromCidr: 1.2.3.4/40}], gateways: [{address: 1.1.1.1, port: 15443}]}}",
  );
  const { errors } = validateMeshNetworks(ok);
  expect(errors.map(({ message }) => message)).toEqual(["invalid network n1: 1.2.3.4/40 is not a valid CIDR block"]);
});
