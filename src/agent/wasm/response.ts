/** A response with extensions' configurations, of either variant, in; the same with each of them converted out. */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";

export interface Configured {
  readonly bytes: Uint8Array;
  /** It is not what the control plane sent. */
  readonly isStandIn: boolean;
}

export interface Conversion {
  convert(bytes: Uint8Array): Promise<Configured>;
  /** An extension of this name is no more. */
  forget(name: string): void;
}

export function convertResponse(
  variant: "sotw" | "delta",
  response: Uint8Array,
  conversion: Conversion,
): Promise<Uint8Array> {
  return variant === "delta" ? convertDelta(response, conversion) : convertWhole(response, conversion);
}

async function convertDelta(response: Uint8Array, { convert, forget }: Conversion): Promise<Uint8Array> {
  const message = fromBinary(DeltaDiscoveryResponseSchema, response);
  for (const name of message.removedResources) forget(name);
  await Promise.all(
    message.resources.map(async (resource) => {
      if (!resource.resource) return;
      const { bytes, isStandIn } = await convert(resource.resource.value);
      resource.resource.value = bytes;
      // Another version than the control plane's, so that after a reconnect it is sent again.
      if (isStandIn) resource.version += " without its module";
    }),
  );
  return toBinary(DeltaDiscoveryResponseSchema, message);
}

async function convertWhole(response: Uint8Array, { convert }: Conversion): Promise<Uint8Array> {
  const message = fromBinary(DiscoveryResponseSchema, response);
  await Promise.all(
    message.resources.map(async (resource) => {
      resource.value = (await convert(resource.value)).bytes;
    }),
  );
  return toBinary(DiscoveryResponseSchema, message);
}
