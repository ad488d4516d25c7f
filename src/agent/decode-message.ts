/** Bytes of a message in; the message out, or undefined where they are none. */
import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";

export function decodeMessage<D extends DescMessage>(schema: D, bytes: Uint8Array): MessageShape<D> | undefined {
  try {
    return fromBinary(schema, bytes);
  } catch {
    return undefined;
  }
}
