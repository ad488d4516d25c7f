/** A gRPC client and the node to ask as in; answers by type in state of the world, on one stream, out. Nothing is followed. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { NodeSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import { DiscoveryRequestSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { FairleadError } from "../../lib/index.ts";
import type { RpcClient } from "../../rpc/index.ts";
import { sotwMethod } from "./client.ts";

export interface Questions {
  /** Encoded messages, in the order in which they came; no names asks for all. */
  ask(typeUrl: string, names?: readonly string[]): Promise<readonly Uint8Array[]>;
  close(): void;
}

export async function openQuestions(
  rpc: RpcClient,
  node: MessageInitShape<typeof NodeSchema>,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<Questions> {
  const stream = await rpc.stream(sotwMethod, options);
  return {
    async ask(typeUrl, names = []) {
      await stream.send(create(DiscoveryRequestSchema, { typeUrl, resourceNames: [...names], node }));
      for (;;) {
        const { value, done } = await stream.messages.next();
        if (done) throw new FairleadError("unavailable", `the stream ended before an answer on ${typeUrl}`);
        if (value.typeUrl !== typeUrl) continue;
        const { nonce, versionInfo } = value;
        await stream.send(
          create(DiscoveryRequestSchema, { typeUrl, resourceNames: [...names], responseNonce: nonce, versionInfo }),
        );
        return value.resources.map((resource) => resource.value);
      }
    },
    close: () => stream.cancel(),
  };
}
