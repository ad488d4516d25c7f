/** A gRPC client in; subscriptions that are kept over reconnects, or one question with its answer, out. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { NodeSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import { AggregatedDiscoveryService } from "../../gen/envoy/service/discovery/v3/ads_pb.js";
import {
  type DeltaDiscoveryRequest,
  DiscoveryRequestSchema,
  type DiscoveryResponse,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { type Backoff, FairleadError, wait } from "../../lib/index.ts";
import { type ClientStream, protoMethod, type RpcClient } from "../../rpc/index.ts";
import type { ClientChange, ClientState } from "./client-state.ts";

export const sotwMethod = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);
export const deltaMethod = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);

/** One question in state of the world, such as `istio.io/debug/syncz`, and its first answer. */
export async function askOnce(
  rpc: RpcClient,
  question: {
    readonly typeUrl: string;
    readonly names?: readonly string[];
    readonly node: MessageInitShape<typeof NodeSchema>;
  },
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<DiscoveryResponse> {
  const stream = await rpc.stream(sotwMethod, options);
  try {
    const { typeUrl, names = [], node } = question;
    await stream.send(create(DiscoveryRequestSchema, { typeUrl, resourceNames: [...names], node }));
    const answer = await stream.messages.next();
    if (answer.done) throw new FairleadError("unavailable", `the control plane gave no answer to ${typeUrl}`);
    return answer.value;
  } finally {
    stream.cancel();
  }
}

export interface FollowOptions {
  readonly rpc: RpcClient;
  readonly state: ClientState;
  readonly backoff: Backoff;
  readonly signal: AbortSignal;
  readonly onChange: (change: ClientChange) => void;
  readonly onLost: (error: unknown) => void;
  /** A text is an objection: the response is refused with it. */
  readonly check?: (change: ClientChange) => string | undefined;
}

export interface Follower {
  subscribe(typeUrl: string, names: readonly string[]): void;
  unsubscribe(typeUrl: string, names: readonly string[]): void;
  /** Resolves when the signal has ended it. */
  readonly done: Promise<void>;
}

/** Follows subscriptions over any number of streams until aborted. */
export function follow(options: FollowOptions): Follower {
  const { state, signal } = options;
  let stream: ClientStream<DeltaDiscoveryRequest, unknown> | undefined;
  // A send that fails is seen where the stream is read.
  const send = (request: DeltaDiscoveryRequest | undefined): void => {
    if (request) stream?.send(request).catch(() => {});
  };

  async function once(): Promise<void> {
    const opened = await options.rpc.stream(deltaMethod, { signal });
    stream = opened;
    for (const request of state.opening()) send(request);
    for await (const response of opened.messages) {
      options.backoff.reset();
      const { answer, change } = state.receive(response, options.check);
      send(answer);
      if (change) options.onChange(change);
    }
    throw new FairleadError("unavailable", "the control plane has ended the stream");
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await once().catch((error: unknown) => {
        if (!signal.aborted) options.onLost(error);
      });
      stream = undefined;
      await wait(options.backoff.nextMs(), signal).catch(() => {});
    }
  }

  return {
    subscribe: (typeUrl, names) => send(state.subscribe(typeUrl, names)),
    unsubscribe: (typeUrl, names) => send(state.unsubscribe(typeUrl, names)),
    done: run(),
  };
}
