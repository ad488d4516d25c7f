/** The bytes of a request in; nothing out, or an error where its node is too large to be decoded while others wait. */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { FairleadError } from "../../lib/index.ts";

/** Numbers of the field in DiscoveryRequest and DeltaDiscoveryRequest. */
export const [sotwNode, deltaNode] = [2, 1];

/** All the metadata that is taken, and an Envoy's list of its extensions thrice. */
export const maxNodeBytes = 512 * 1024;

export function checkNodeSize(request: Uint8Array, node: number): void {
  const size = request.length > maxNodeBytes ? nodeSize(request, node) : 0;
  if (size > maxNodeBytes)
    throw new FairleadError("too-large", `the node has ${size} bytes; at most ${maxNodeBytes} are accepted`);
}

/** Of all nodes where there are several: the decoder makes one of them. Of what is malformed the decoder is to tell. */
function nodeSize(request: Uint8Array, node: number): number {
  const reader = new BinaryReader(request);
  let size = 0;
  try {
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      const { length } = reader.skip(type, field);
      if (field === node && type === WireType.LengthDelimited) size += length;
    }
  } catch {
    return size;
  }
  return size;
}
