/**
 * A proxy and the port of a control plane in; what an Envoy, or a gRPC client, holds that follows all it is told, but for what
 * it refuses, out.
 * A stream that is cut is followed by another, on which the proxy says what it holds.
 */
import { create, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import type { NodeSchema } from "../../src/gen/envoy/config/core/v3/base_pb.js";
import { AggregatedDiscoveryService } from "../../src/gen/envoy/service/discovery/v3/ads_pb.js";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  type DiscoveryRequest,
  DiscoveryRequestSchema,
} from "../../src/gen/envoy/service/discovery/v3/discovery_pb.js";
import { type ResourceType, types } from "../../src/model/index.ts";
import { createRpcClient, protoMethod } from "../../src/rpc/index.ts";
import { virtualHostType } from "../../src/xds/type-info.ts";
import { createHeldHosts, type HeldHosts } from "./held-hosts.ts";
import type { LiveProxy } from "./proxies.ts";
import { grpcTypes, namedTypes, type Referrer } from "./references.ts";
import { type Coming, complaint, createRefusing, grpcComplaint, type Refusing, takesOthers } from "./refusing.ts";
import { createWaiting, type Waiting } from "./waiting.ts";
import { identityHeader } from "./world.ts";

/**
 * `vhds`: a delta stream of an Envoy that takes virtual hosts one by one; `grpc`: a stream in state of the world of an application
 * that is its own xDS client.
 */
export type Variant = "delta" | "sotw" | "vhds" | "grpc";

export interface StreamClient {
  readonly variant: Variant;
  readonly proxy: LiveProxy;
  /** Types that it asks for by name; of the others it asks for all. */
  readonly named: readonly ResourceType[];
  /** Listeners that a gRPC client asks for by itself. */
  readonly dials: readonly string[];
  held(type: ResourceType): ReadonlyMap<string, Uint8Array>;
  readonly refusing: Pick<Refusing, "refused" | "isMisstated" | "isCarried" | "count">;
  /** A route configuration as it is in force. */
  route(name: string): Uint8Array | undefined;
  /** Names of endpoints that clusters wait for; in state of the world a new stream is sent all, and none waits. */
  awaited(): ReadonlySet<string>;
  /** Resolves when something has come, or the stream has ended. */
  changed(): Promise<void>;
  /** Why the stream has ended, where it has. */
  ended(): string | undefined;
  /** The stream is lost, and the proxy comes back with what it holds. */
  cut(): void;
  close(): void;
}

const sotwMethod = protoMethod(AggregatedDiscoveryService.method.streamAggregatedResources);
const deltaMethod = protoMethod(AggregatedDiscoveryService.method.deltaAggregatedResources);
/** What is known to take virtual hosts one by one is sent them so. */
const userAgents: Partial<Record<Variant, { readonly name: string; readonly version: string }>> = {
  vhds: { name: "envoy", version: "1.40.0" },
  grpc: { name: "gRPC Go", version: "1.76.0" },
};
const maxLost = 20;
const noBytes = new Uint8Array(0);
/** In state of the world, what is left out of these is gone. */
export const wholeSets: readonly ResourceType[] = [types.cluster, types.listener];
const allTypes = [...wholeSets, ...namedTypes];

/** A response in short: of a state of the world that is sent whole, only what is another than what is held. */
export interface Heard {
  readonly type: ResourceType;
  readonly came: readonly string[];
  readonly gone: readonly string[];
}

/** What may go wrong on a stream. */
export interface Troubles {
  /** Asked whenever clusters have come that wait for endpoints: whether the stream is lost before these. */
  isLost(): boolean;
  /** Whether something new of this name is refused now. */
  refuses(type: ResourceType, name: string, bytes: Uint8Array): boolean;
}

export const noTroubles: Troubles = { isLost: () => false, refuses: () => false };

interface Held {
  readonly resources: Map<ResourceType, Map<string, Uint8Array>>;
  readonly versions: Map<ResourceType, Map<string, string>>;
  readonly asked: Map<ResourceType, ReadonlySet<string>>;
  readonly isGrpc: boolean;
  /** Types that are asked for by name. */
  readonly named: readonly ResourceType[];
  /** In state of the world, the version that was taken last. */
  readonly taken: Map<ResourceType, string>;
  /** Envoy keeps a route configuration that it is told is gone, and takes hosts for it. */
  readonly goneRoutes: Set<string>;
  readonly hosts: HeldHosts;
  readonly waiting: Waiting;
  readonly refusing: Refusing;
}

function createHeld(isGrpc: boolean, refuses: Troubles["refuses"]): Held {
  const resources = new Map(allTypes.map((type) => [type, new Map<string, Uint8Array>()]));
  const hosts = createHeldHosts((route) => resources.get(types.route)?.has(route) === true);
  const versions = new Map(allTypes.map((type) => [type, new Map<string, string>()]));
  const asked = new Map<ResourceType, ReadonlySet<string>>();
  const named = isGrpc ? grpcTypes : namedTypes;
  const refusing = createRefusing({
    held: (type, name) => resources.get(type)?.get(name),
    refuses: (type, name, bytes) => isAsked({ asked, named }, type, name) && refuses(type, name, bytes),
  });
  const waiting = createWaiting();
  return {
    isGrpc,
    resources,
    versions,
    asked,
    named,
    taken: new Map(),
    goneRoutes: new Set(),
    hosts,
    waiting,
    refusing,
  };
}

export async function openStream(
  port: number,
  proxy: LiveProxy,
  variant: Variant,
  referrer: Referrer,
  troubles: Troubles = noTroubles,
  hears: (response: Heard) => void = () => {},
): Promise<StreamClient> {
  const rpc = createRpcClient({ target: { host: "127.0.0.1", port } });
  const isGrpc = variant === "grpc";
  const dials = isGrpc ? (proxy.asks?.get(types.listener) ?? []) : [];
  const held = createHeld(isGrpc, troubles.refuses);
  held.asked.set(types.listener, new Set(dials));
  let news = Promise.withResolvers<void>();
  let end: string | undefined;
  let lost = 0;
  const tell = (): void => {
    news.resolve();
    news = Promise.withResolvers();
  };
  const begin = (): AbortController => {
    held.refusing.comeBack(held.resources);
    const stop = new AbortController();
    const options = { signal: stop.signal, metadata: { [identityHeader]: JSON.stringify(proxy.identity) } };
    const run = variant === "sotw" || isGrpc ? runSotw : runDelta;
    run({ rpc, options, node: nodeOf(proxy, variant), held, referrer, tell, loses, hears }).catch((error: unknown) => {
      if (stop.signal.aborted) return;
      // On a machine that is too busy to answer a ping in time streams are lost, and proxies come back.
      if (lost++ < maxLost) running = begin();
      else end = String(error);
      tell();
    });
    return stop;
  };
  const cut = (): void => {
    running.abort();
    running = begin();
  };
  const loses = (): boolean => {
    if (held.waiting.awaited().size === 0 || !troubles.isLost()) return false;
    cut();
    return true;
  };
  let running = begin();
  return {
    variant,
    proxy,
    named: held.named,
    dials,
    held: (type) => (type === types.route ? routesOf(held) : (held.resources.get(type) ?? new Map())),
    route(name) {
      const bytes = held.resources.get(types.route)?.get(name);
      return bytes && held.hosts.merged(name, bytes);
    },
    refusing: held.refusing,
    awaited: held.waiting.awaited,
    changed: () => news.promise,
    ended: () => end,
    cut,
    close() {
      running.abort();
      rpc.close();
    },
  };
}

function routesOf({ resources, goneRoutes }: Held): ReadonlyMap<string, Uint8Array> {
  return new Map([...(resources.get(types.route) ?? [])].filter(([name]) => !goneRoutes.has(name)));
}

interface Run {
  readonly rpc: ReturnType<typeof createRpcClient>;
  readonly options: { readonly signal: AbortSignal; readonly metadata: Readonly<Record<string, string>> };
  readonly node: MessageInitShape<typeof NodeSchema>;
  readonly held: Held;
  readonly referrer: Referrer;
  readonly tell: () => void;
  /** Whether the stream is lost now. */
  readonly loses: () => boolean;
  readonly hears: (response: Heard) => void;
}

async function runDelta({ rpc, options, node, held, referrer, tell, loses, hears }: Run): Promise<void> {
  const stream = await rpc.stream(deltaMethod, options);
  const send = (init: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): void => {
    const request: DeltaDiscoveryRequest = create(DeltaDiscoveryRequestSchema, init);
    stream.send(request).catch(() => {});
  };
  let asksHosts = false;
  let asksClusters = asksForClusters(held);
  for (const request of firstRequests(held)) send({ node, ...request });
  for await (const response of stream.messages) {
    if (options.signal.aborted) return;
    const type = response.typeUrl as ResourceType;
    hears({ type, came: response.resources.map(({ name }) => name), gone: response.removedResources });
    const refused = held.refusing.judge(type, named(response));
    if (response.typeUrl === virtualHostType) takeHosts(held, response);
    else if (refused.size === 0) take(held, response, referrer);
    else takeOthers(held, response, referrer, refused);
    const followed = followReferences(held, referrer);
    if (type === types.cluster && loses()) return;
    send({ typeUrl: type, responseNonce: response.nonce, ...complaint(type, refused) });
    for (const { of, added, gone } of followed)
      send({ typeUrl: of, resourceNamesSubscribe: added, resourceNamesUnsubscribe: gone });
    if (!asksHosts && type === types.route) {
      // Once a stream, whatever the number of routes; a wildcard, as Envoy has no names for it.
      asksHosts = true;
      send({ typeUrl: virtualHostType });
    }
    if (!asksClusters && asksForClusters(held)) {
      asksClusters = true;
      send(firstRequest(held, types.cluster));
    }
    tell();
  }
}

interface FirstRequest {
  readonly typeUrl: string;
  readonly resourceNamesSubscribe?: string[];
  readonly initialResourceVersions: Record<string, string>;
}

/** While a cluster waits for endpoints, Envoy says nothing of clusters. */
const asksForClusters = ({ waiting }: Held): boolean => waiting.awaited().size === 0;

const asksForAny = ({ named, asked }: Held, type: ResourceType): boolean =>
  asksForAll(named, type) || (asked.get(type)?.size ?? 0) > 0;

const asksForAll = (named: readonly ResourceType[], type: ResourceType): boolean =>
  wholeSets.includes(type) && !named.includes(type);

const isFirstAsked = (held: Held, type: ResourceType): boolean =>
  type === types.cluster ? asksForClusters(held) : asksForAny(held, type);

function firstRequest(held: Held, type: ResourceType): FirstRequest {
  const resourceNamesSubscribe = [...(held.asked.get(type) ?? [])];
  const initialResourceVersions = Object.fromEntries(held.versions.get(type) ?? []);
  return { typeUrl: type, resourceNamesSubscribe, initialResourceVersions };
}

/** What was asked for before is asked for again, with what is held of it. */
function* firstRequests(held: Held): Generator<FirstRequest> {
  for (const type of allTypes) if (isFirstAsked(held, type)) yield firstRequest(held, type);
  const claims = Object.fromEntries(held.hosts.versions());
  if (held.hosts.versions().size > 0) yield { typeUrl: virtualHostType, initialResourceVersions: claims };
}

function take(held: Held, { typeUrl, resources, removedResources }: DeltaDiscoveryResponse, referrer: Referrer): void {
  const type = typeUrl as ResourceType;
  const [mine, versions] = [held.resources.get(type), held.versions.get(type)];
  for (const { name, version, resource } of resources) {
    if (!isAsked(held, type, name)) continue;
    const bytes = resource?.value ?? new Uint8Array(0);
    noteComing(held, type, { name, bytes, before: mine?.get(name) }, referrer);
    mine?.set(name, bytes);
    versions?.set(name, version);
    held.refusing.note(type, name);
    if (type === types.route) held.goneRoutes.delete(name);
  }
  for (const name of removedResources) {
    noteGone(held, type, name);
    versions?.delete(name);
    held.refusing.note(type, name);
    if (type === types.route) held.goneRoutes.add(name);
    else mine?.delete(name);
  }
}

interface Arrival {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly before: Uint8Array | undefined;
}

const named = ({ resources }: DeltaDiscoveryResponse): Coming =>
  resources.map(({ name, resource }) => [name, resource?.value ?? new Uint8Array(0)]);

/** What is not refused of a response, without its version. */
function takeOthers(
  held: Held,
  response: DeltaDiscoveryResponse,
  referrer: Referrer,
  refused: ReadonlySet<string>,
): void {
  const type = response.typeUrl as ResourceType;
  if (type === types.endpoint) held.waiting.end();
  if (!takesOthers(type)) return;
  const versions = new Map(held.versions.get(type));
  const resources = response.resources.filter(({ name }) => !refused.has(name));
  take(held, { ...response, resources }, referrer);
  held.versions.set(type, versions);
  for (const name of [...resources.map((one) => one.name), ...response.removedResources])
    held.refusing.noteNot(type, name);
}

function noteComing({ waiting }: Held, type: ResourceType, { name, bytes, before }: Arrival, referrer: Referrer): void {
  if (type === types.endpoint) waiting.endpoints(name);
  if (type !== types.cluster || (before && Buffer.compare(before, bytes) === 0)) return;
  waiting.cluster(name, referrer.of(type, bytes).get(types.endpoint) ?? []);
}

function noteGone({ waiting }: Held, type: ResourceType, name: string): void {
  if (type === types.endpoint) waiting.endpoints(name);
  if (type === types.cluster) waiting.gone(name);
}

function takeHosts({ hosts }: Held, { resources, removedResources }: DeltaDiscoveryResponse): void {
  for (const { name, version, resource } of resources) hosts.take(name, resource?.value, version);
  for (const name of removedResources) hosts.remove(name);
}

async function runSotw({ rpc, options, node, held, referrer, tell, hears }: Run): Promise<void> {
  const stream = await rpc.stream(sotwMethod, options);
  /** Of this stream; the version of what was taken outlives it. */
  const nonces = new Map<ResourceType, string>();
  const send = (
    type: ResourceType,
    more: Pick<MessageInitShape<typeof DiscoveryRequestSchema>, "node" | "errorDetail"> = {},
  ): void => {
    const resourceNames = [...(held.asked.get(type) ?? [])];
    const request: DiscoveryRequest = create(DiscoveryRequestSchema, {
      ...more,
      versionInfo: held.taken.get(type) ?? "",
      responseNonce: nonces.get(type) ?? "",
      typeUrl: type,
      resourceNames,
    });
    stream.send(request).catch(() => {});
  };
  for (const type of allTypes) if (asksForAny(held, type)) send(type, { node });
  for await (const response of stream.messages) {
    const type = response.typeUrl as ResourceType;
    const resources = response.resources.map(({ value }) => [referrer.name(type, value), value] as const);
    hears({ type, ...differing(held, type, resources) });
    const refused = held.refusing.judge(type, resources);
    takeAll(held, type, resources, refused);
    // What was refused is answered with the version of what was taken before.
    if (refused.size === 0) held.taken.set(type, response.versionInfo);
    nonces.set(type, response.nonce);
    const followed = followReferences(held, referrer);
    send(type, held.isGrpc ? grpcComplaint(refused) : complaint(type, refused));
    for (const of of new Set(followed.map((one) => one.of))) if (of !== type) send(of);
    tell();
  }
}

function differing({ resources: all }: Held, type: ResourceType, coming: Coming): Pick<Heard, "came" | "gone"> {
  if (!wholeSets.includes(type)) return { came: coming.map(([name]) => name), gone: [] };
  const mine = all.get(type) ?? new Map<string, Uint8Array>();
  const names = new Set(coming.map(([name]) => name));
  return {
    came: coming.flatMap(([name, bytes]) => (Buffer.compare(mine.get(name) ?? noBytes, bytes) === 0 ? [] : [name])),
    gone: [...mine.keys()].filter((name) => !names.has(name)),
  };
}

/** Of clusters and listeners what is not there goes, and what is refused stays as it was. */
function takeAll(held: Held, type: ResourceType, resources: Coming, refused: ReadonlySet<string>): void {
  const mine = held.resources.get(type);
  if (refused.size > 0 && !held.isGrpc && !takesOthers(type)) return;
  const names = new Set(resources.map(([name]) => name));
  if (wholeSets.includes(type)) for (const name of [...(mine?.keys() ?? [])]) if (!names.has(name)) mine?.delete(name);
  for (const [name, bytes] of resources) {
    if (refused.has(name) || !isAsked(held, type, name)) continue;
    mine?.set(name, bytes);
    held.refusing.note(type, name);
  }
}

/** What was let go while it was on its way is not taken. */
function isAsked({ named, asked }: Pick<Held, "asked" | "named">, type: ResourceType, name: string): boolean {
  return asksForAll(named, type) || asked.get(type)?.has(name) === true;
}

interface Followed {
  readonly of: ResourceType;
  readonly added: string[];
  readonly gone: string[];
}

/**
 * What resources refer to is asked for, and what they do no longer is let go, as Envoy and gRPC do. Which listeners a gRPC
 * client asks for is for its application to say.
 */
function followReferences(held: Held, referrer: Referrer): readonly Followed[] {
  const all: Followed[] = [];
  // With a route that is let go its clusters go, and with these their endpoints.
  for (let once = followOnce(held, referrer); once.length > 0; once = followOnce(held, referrer)) all.push(...once);
  return all;
}

function followOnce(held: Held, referrer: Referrer): readonly Followed[] {
  const followed = held.named.filter((type) => type !== types.listener);
  const wanted = new Map<ResourceType, Set<string>>(followed.map((type) => [type, new Set()]));
  for (const [type, resources] of held.resources)
    for (const bytes of resources.values())
      for (const [to, names] of referrer.of(type, bytes)) for (const name of names) wanted.get(to)?.add(name);
  return [...wanted].flatMap(([of, names]) => {
    const before = held.asked.get(of) ?? new Set();
    const added = [...names].filter((name) => !before.has(name));
    const gone = [...before].filter((name) => !names.has(name));
    for (const name of gone) letGo(held, of, name);
    held.asked.set(of, names);
    return added.length + gone.length > 0 ? [{ of, added, gone }] : [];
  });
}

function letGo(held: Held, of: ResourceType, name: string): void {
  held.resources.get(of)?.delete(name);
  held.versions.get(of)?.delete(name);
  if (of !== types.route) return;
  held.goneRoutes.delete(name);
  held.hosts.forget(name);
}

function nodeOf({ node }: LiveProxy, variant: Variant): MessageInitShape<typeof NodeSchema> {
  const agent = userAgents[variant];
  return {
    ...(agent
      ? { userAgentName: agent.name, userAgentVersionType: { case: "userAgentVersion", value: agent.version } }
      : {}),
    id: node.id,
    cluster: node.cluster,
    metadata: node.metadata as JsonObject,
    locality: node.locality,
    extensions: [...node.extensions].map((name) => ({ name })),
  };
}
