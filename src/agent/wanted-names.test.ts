import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { DeltaDiscoveryRequestSchema, DiscoveryRequestSchema } from "../gen/envoy/service/discovery/v3/discovery_pb.js";
import { createWantedNames } from "./wanted-names.ts";

const node = { id: "n", cluster: "c" };

test("state of the world: each request for the type names all that are wanted", () => {
  const read = createWantedNames("sotw", "t");
  const request = (typeUrl: string, ...resourceNames: string[]) =>
    read(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, { node, typeUrl, resourceNames })));
  expect(request("t", "a", "b")).toEqual({ only: new Set(["a", "b"]) });
  expect(request("other", "a")).toBeUndefined();
  expect(request("t")).toEqual({ only: new Set() });
});

test("delta: the first names all, the others what changes", () => {
  const read = createWantedNames("delta", "t");
  const request = (typeUrl: string, resourceNamesSubscribe: string[], resourceNamesUnsubscribe: string[] = []) => {
    const names = { node, typeUrl, resourceNamesSubscribe, resourceNamesUnsubscribe };
    return read(toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, names)));
  };
  expect(request("other", ["x"])).toBeUndefined();
  expect(request("t", ["a", "b"])).toEqual({ only: new Set(["a", "b"]) });
  expect(request("t", ["c"], ["a"])).toEqual({ without: ["a"] });
  expect(request("t", [])).toEqual({ without: [] });
});

test("what cannot be read says nothing", () => {
  expect(createWantedNames("delta", "t")(Uint8Array.of(0xff, 0xff))).toBeUndefined();
});
