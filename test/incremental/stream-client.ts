/** A proxy and the port of a control plane in; what an Envoy holds that follows all it is told, ACKing it, out. */
import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import type { NodeSchema } from "../../src/gen/envoy/config/core/v3/base_pb.js";
import { AggregatedDiscoveryService } from "../../src/gen/envoy/service/discovery/v3/ads_pb.js";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DiscoveryRequest,
  DiscoveryRequestSchema,
} from "../../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { type ResourceType, types } from "../../src/model/index.ts";
import { createRpcClient, protoMethod } from "../../src/rpc/index.ts";
import type { LiveProxy } from "./proxies.ts";
import { namedTypes, type Referrer } from "./references.ts";
import { identityHeader } from "./world.ts";

export type Variant = "delta" | "sotw";

export interface StreamClient {
  readonly variant: Variant;
  readonly proxy: LiveProxy;
  held(type: ResourceType): ReadonlyMap<string, Uint8Array>;
  /** Resolves when something has come, or the stream has ended. */
  changed(): Promise<void>;
  /** Why the stream has ended, where it has. */
  ended(): string | undefined;
  close(): void;
}

const sotwMethod = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);
const deltaMethod = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);
const wildcards: readonly ResourceType[] = [types.cluster, types.listener];
const allTypes = [...wildcards, ...namedTypes];

interface Held {
  readonly resources: Map<ResourceType, Map<string, Uint8Array>>;
  readonly asked: Map<ResourceType, ReadonlySet<string>>;
}

export async function openStream(
  port: number,
  proxy: LiveProxy,
  variant: Variant,
  referrer: Referrer,
): Promise<StreamClient> {
  const rpc = createRpcClient({ target: { host: "127.0.0.1", port } });
  const held: Held = {
    resources: new Map(allTypes.map((type) => [type, new Map<string, Uint8Array>()])),
    asked: new Map(),
  };
  let news = Promise.withResolvers<void>();
  let end: string | undefined;
  const tell = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const stop = new AbortController();
  const options = { signal: stop.signal, metadata: { [identityHeader]: JSON.stringify(proxy.identity) } };
  const run = variant === "delta" ? runDelta : runSotw;
  run({ rpc, options, node: nodeOf(proxy), held, referrer, tell }).catch((error: unknown) => {
    end = String(error);
    tell();
  });
  return {
    variant,
    proxy,
    held: (type) => held.resources.get(type) ?? new Map(),
    changed: () => news.promise,
    ended: () => end,
    close() {
      stop.abort();
      rpc.close();
    },
  };
}

interface Run {
  readonly rpc: ReturnType<typeof createRpcClient>;
  readonly options: { readonly signal: AbortSignal; readonly metadata: Readonly<Record<string, string>> };
  readonly node: MessageInitShape<typeof NodeSchema>;
  readonly held: Held;
  readonly referrer: Referrer;
  readonly tell: () => void;
}

async function runDelta({ rpc, options, node, held, referrer, tell }: Run): Promise<void> {
  const stream = await rpc.stream(deltaMethod, options);
  const send = (init: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): void => {
    const request: DeltaDiscoveryRequest = create(DeltaDiscoveryRequestSchema, init);
    stream.send(request).catch(() => {});
  };
  send({ node, typeUrl: types.cluster });
  send({ typeUrl: types.listener });
  for await (const response of stream.messages) {
    const type = response.typeUrl as ResourceType;
    const mine = held.resources.get(type);
    for (const { name, resource } of response.resources)
      if (isAsked(held, type, name)) mine?.set(name, resource?.value ?? new Uint8Array(0));
    for (const name of response.removedResources) mine?.delete(name);
    send({ typeUrl: type, responseNonce: response.nonce });
    for (const { of, added, gone } of followReferences(held, referrer))
      send({ typeUrl: of, resourceNamesSubscribe: added, resourceNamesUnsubscribe: gone });
    tell();
  }
}

async function runSotw({ rpc, options, node, held, referrer, tell }: Run): Promise<void> {
  const stream = await rpc.stream(sotwMethod, options);
  const last = new Map<ResourceType, { readonly versionInfo: string; readonly responseNonce: string }>();
  const send = (type: ResourceType, first: { node?: typeof node } = {}): void => {
    const resourceNames = [...(held.asked.get(type) ?? [])];
    const request: DiscoveryRequest = create(DiscoveryRequestSchema, {
      ...first,
      ...last.get(type),
      typeUrl: type,
      resourceNames,
    });
    stream.send(request).catch(() => {});
  };
  send(types.cluster, { node });
  send(types.listener);
  for await (const response of stream.messages) {
    const type = response.typeUrl as ResourceType;
    const mine = held.resources.get(type);
    if (wildcards.includes(type)) mine?.clear();
    for (const { value } of response.resources) {
      const name = referrer.name(type, value);
      if (isAsked(held, type, name)) mine?.set(name, value);
    }
    last.set(type, { versionInfo: response.versionInfo, responseNonce: response.nonce });
    const followed = followReferences(held, referrer);
    for (const of of new Set([type, ...followed.map((one) => one.of)])) send(of);
    tell();
  }
}

/** What was let go while it was on its way is not taken. */
function isAsked(held: Held, type: ResourceType, name: string): boolean {
  return wildcards.includes(type) || held.asked.get(type)?.has(name) === true;
}

interface Followed {
  readonly of: ResourceType;
  readonly added: string[];
  readonly gone: string[];
}

/** What clusters and listeners refer to is asked for, and what they do no longer is let go, as Envoy does. */
function followReferences(held: Held, referrer: Referrer): readonly Followed[] {
  const wanted = new Map(namedTypes.map((type) => [type, new Set<string>()]));
  for (const [type, resources] of held.resources)
    for (const bytes of resources.values())
      for (const [to, names] of referrer.of(type, bytes)) for (const name of names) wanted.get(to)?.add(name);
  return [...wanted].flatMap(([of, names]) => {
    const before = held.asked.get(of) ?? new Set();
    const added = [...names].filter((name) => !before.has(name));
    const gone = [...before].filter((name) => !names.has(name));
    for (const name of gone) held.resources.get(of)?.delete(name);
    held.asked.set(of, names);
    return added.length + gone.length > 0 ? [{ of, added, gone }] : [];
  });
}

function nodeOf({ node }: LiveProxy): MessageInitShape<typeof NodeSchema> {
  return {
    id: node.id,
    cluster: node.cluster,
    metadata: node.metadata as JsonObject,
    locality: node.locality,
    extensions: [...node.extensions].map((name) => ({ name })),
  };
}
