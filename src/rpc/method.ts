/** A protobuf-es method descriptor in, a typed method with codecs out; a codec may hand over shared bytes as they are. */
import { type DescMessage, type DescMethod, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { checkParts, maxRequestParts } from "./message-parts.ts";
import { RpcError, status } from "./status.ts";

/** One message as pieces that are written in order; pieces may be shared between streams and are never changed. */
export type Payload = readonly Uint8Array[];

export interface Decoder<T> {
  decode(bytes: Uint8Array): T;
}

export interface Codec<T> extends Decoder<T> {
  encode(value: T): Payload;
}

export interface Method<I, O> {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly request: Codec<I>;
  readonly response: Codec<O>;
}

/** For senders that encode by themselves, so that what is shared stays shared. */
export const rawCodec: Codec<Payload> = { decode: (bytes) => [bytes], encode: (value) => value };

export function protoCodec<D extends DescMessage>(schema: D): Codec<MessageShape<D>> {
  return {
    decode(bytes) {
      try {
        return fromBinary(schema, bytes, { readUnknownFields: false });
      } catch (error) {
        throw new RpcError(status.invalidArgument, `not a ${schema.typeName}`, { cause: error });
      }
    },
    encode: (value) => [toBinary(schema, value)],
  };
}

/** Anybody may send a request, before it is known who that is; answers come from whom we have called. */
export function protoMethod<I extends DescMessage, O extends DescMessage>(
  desc: DescMethod & { readonly input: I; readonly output: O },
  maxParts = maxRequestParts,
): Method<MessageShape<I>, MessageShape<O>> {
  const request = protoCodec(desc.input);
  return {
    path: `/${desc.parent.typeName}/${desc.name}`,
    request: {
      ...request,
      decode(bytes) {
        checkParts(desc.input, bytes, maxParts);
        return request.decode(bytes);
      },
    },
    response: protoCodec(desc.output),
  };
}
