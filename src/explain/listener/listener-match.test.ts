import { fromJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { findBound, findInbound, findOutbound } from "./listener-match.ts";

const make = (name: string, address: string, portValue: number, more: object = {}) =>
  fromJson(ListenerSchema, {
    name,
    address: { socketAddress: { address, portValue } },
    trafficDirection: "OUTBOUND",
    ...more,
  });
const listeners = [
  make("virtualOutbound", "0.0.0.0", 15001, { useOriginalDst: true }),
  make("virtualInbound", "0.0.0.0", 15006, { trafficDirection: "INBOUND" }),
  make("0.0.0.0_80", "0.0.0.0", 80),
  make("10.96.0.1_80", "10.96.0.1", 80),
  make("10.96.0.1_443", "10.96.0.1", 443),
];

test.each([
  ["10.96.0.1", 80, "10.96.0.1_80"],
  ["10.96.0.2", 80, "0.0.0.0_80"],
  ["10.96.0.2", 443, "virtualOutbound"],
  ["10.96.0.1", 15006, "virtualOutbound"],
])("what goes out to %s:%d is taken by %s", (ip, port, expected) => {
  expect(findOutbound(listeners, { ip, port })?.listener.name).toBe(expected);
});

test("what comes in is captured by one listener", () => {
  expect(findInbound(listeners, { ip: "10.0.0.1", port: 8080 })?.listener.name).toBe("virtualInbound");
});

test("a gateway has what it is bound to", () => {
  expect(findBound(listeners, { ip: "10.0.0.8", port: 80 })?.listener.name).toBe("0.0.0.0_80");
  expect(findBound(listeners, { ip: "10.0.0.8", port: 81 })).toBeUndefined();
});
