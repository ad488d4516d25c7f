import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { heldBytes } from "../../../test/held-bytes.ts";
import { AggregatedDiscoveryService } from "../../gen/envoy/service/discovery/v3/ads_pb.js";
import {
  DeltaDiscoveryRequestSchema,
  DiscoveryRequestSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { protoMethod } from "../../rpc/index.ts";
import { fromDelta, fromSotw, type Incoming } from "./incoming.ts";

const { request: delta } = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);
const { request: sotw } = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);
const refusal = (message: string) => ({ responseNonce: "n", errorDetail: { code: 3, message } });

test.each<[string, (message: string) => Incoming]>([
  [
    "incremental",
    (message) =>
      fromDelta(
        delta.decode(toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, refusal(message)))),
      ),
  ],
  [
    "other",
    (message) =>
      fromSotw(sotw.decode(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, refusal(message))))),
  ],
])("of what an %s request complains about its beginning is kept, and not all of it", async (_case, read) => {
  expect(read("no such filter").error).toBe("no such filter");
  const before = await heldBytes();
  const kept = Array.from({ length: 30 }, (_, i) => read(`${i} is wrong, ü, ${"x".repeat(2 ** 21)}`).error ?? "");
  const held = (await heldBytes()) - before;
  expect(kept.map((text) => [text.slice(0, 14).trim(), text.length])).toEqual(
    kept.map((_, i) => [`${i} is wrong, ü,`.slice(0, 14).trim(), 4096]),
  );
  expect(held).toBeLessThan(2 ** 23);
});
