/**
 * Objects in; what connected proxies are given out: graph, stages, rendering and the ADS server as a control plane puts
 * them together. The one file of these tests that knows how that is done.
 */
import { randomUUID } from "node:crypto";
import { createGraph } from "../../src/collections/index.ts";
import { kindNames } from "../../src/control-plane/page.ts";
import { createPatchReports, forgetChanged } from "../../src/control-plane/patch-reports.ts";
import { createProgrammed, type Programmed, type ProgrammedOptions } from "../../src/control-plane/programmed/index.ts";
import { proxyOfNode } from "../../src/control-plane/proxy-of-node.ts";
import { createGenerations, createQuarantine, type Filter } from "../../src/control-plane/quarantine/index.ts";
import { type ControlledSource, createResourceSource } from "../../src/control-plane/source/resource-source.ts";
import { createStages, type StagesOptions } from "../../src/control-plane/stages.ts";
import { watchObjects } from "../../src/control-plane/watched-kinds.ts";
import { createMemorySource } from "../../src/kube/index.ts";
import { isRecord, silentLogger } from "../../src/lib/index.ts";
import type { KubeObject, Resource, ResourceType } from "../../src/model/index.ts";
import { createMetrics } from "../../src/ops/index.ts";
import { createEnvoyTypes } from "../../src/render/index.ts";
import { type Call, createRpcServer } from "../../src/rpc/index.ts";
import { createAds, type News, type Proven, type ProxyNode, type ResourceSource } from "../../src/xds/index.ts";
import type { LiveProxy } from "./proxies.ts";

export interface Connected {
  all(type: ResourceType): ReadonlyMap<string, Resource>;
  get(type: ResourceType, name: string): Resource | undefined;
  /** Whether the proxy was told that this resource may have changed, since `forget`. */
  told(type: ResourceType, name: string): boolean;
  forget(): void;
  close(): void;
}

/** EnvoyFilters that a proxy is not to have, with the generation that it has instead, if any. */
export type Withholding = ReadonlyMap<string, Filter | undefined>;

export interface World {
  change(apply: readonly KubeObject[], remove: readonly KubeObject[]): void;
  connect(proxy: LiveProxy): Promise<Connected>;
  /** As the quarantine does: until the filter has another generation. From all that connect as this proxy. */
  withhold(node: ProxyNode, filters: Withholding): void;
  withheldFrom(node: ProxyNode): Withholding;
  /** The generation of an EnvoyFilter before the one it has. */
  before(filter: string): Filter | undefined;
  /** Begins to make again what is due; settles when that is over. What becomes due meanwhile is left. */
  push(): Promise<void>;
  /** Resolves when everything that is due has been made again. */
  settled(): Promise<void>;
  /** Whoever wants to know is told of each set that becomes another one. */
  readonly followMoves: ControlledSource["followMoves"];
  /** Faults of ours, since this was last asked. */
  faults(): readonly string[];
  /** Serves streams on a port of loopback. */
  listen(): Promise<number>;
  /** Which generations of objects those have that have streams. */
  readonly programmed: Programmed;
  /** Whether it is still looked at what it is that streams refuse. */
  isSearching(): boolean;
  /** Look-ups that were recorded, and looked at again, so far. */
  readonly lookUps: number;
  /** How much is kept, by what it is kept of. */
  counts(): Readonly<Record<string, number>>;
  /** As they would be scraped. */
  metrics(): Promise<string>;
  close(): Promise<void>;
}

/** In place of a certificate: the identity as JSON. */
export const identityHeader = "x-test-identity";

const domain = "cluster.local";
const cluster = "Kubernetes";

/** What a control plane is told once, at its start. */
export type WorldSettings = Pick<StagesOptions, "revision" | "ownHostsOnly">;

export interface WorldOptions {
  /** How long changes wait for others; where it is long, they are made known only by `push` and `settled`. */
  readonly debounceMs?: number;
  readonly settings?: WorldSettings;
  /** What streams refuse of EnvoyFilters is withheld from them, as a control plane does; then nothing else is. */
  readonly quarantine?: boolean;
  /** How soon it is looked who still has what objects made before they changed. */
  readonly tidyTimes?: ProgrammedOptions["tidyTimes"];
}

export async function createWorld(
  objects: readonly KubeObject[],
  { debounceMs = 1, settings = {}, ...options }: WorldOptions = {},
): Promise<World> {
  let faults: string[] = [];
  const fault = (what: string, error: unknown): void => {
    faults.push(`${what}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  };
  const graph = createGraph({ onFault: fault });
  const api = createMemorySource({ graph, objects });
  const watched = watchObjects(api);
  const outside = (configMap: string, key: string): unknown => {
    const data = watched.objects("", "ConfigMap").get(`istio-system/${configMap}`)?.data;
    return isRecord(data) ? data[key] : undefined;
  };
  const kept = graph.source<Filter>("envoyfilters kept");
  const stages = createStages({
    ...settings,
    graph,
    keptEnvoyFilters: kept,
    objects: watched.objects,
    domain,
    cluster,
    configMap: "istio-system/istio",
    fetchKeySets: () => ({ get: (key) => outside("key-sets", key)?.toString() }),
    maySeeSecrets: ({ serviceAccount }) => outside("secret-access", serviceAccount) !== "no",
  });
  const patchTypes = createEnvoyTypes(graph);
  await patchTypes.load();
  const metrics = createMetrics();
  const patchReports = createPatchReports(metrics, silentLogger);
  watched
    .objects("networking.istio.io", "EnvoyFilter")
    .subscribe((key, next, before) => forgetChanged(patchReports, key, next, before));
  const context = { mesh: stages.mesh, registry: stages.registry, domain, cluster };
  const source = createResourceSource({
    mesh: stages.mesh,
    proxyOf: (node, identity) => proxyOfNode(node, context, identity),
    classOf: stages.classOf,
    debounceMs,
    debounceMaxMs: 10 * debounceMs,
    envoyTypes: patchTypes,
    onPatch: patchReports.report,
    onFault: (proxy, { name, error }) =>
      fault(`${name} for ${proxy ? `a proxy in ${proxy.namespace}` : "all who share it"}`, error),
  });
  const generations = createGenerations(stages.configs.envoyFilters);
  /** By the proxy's own id, as its streams have nodes of their own. */
  const withheld = new Map<string, Withholding>();
  const nodes = new Map<string, Set<ProxyNode>>();
  const apply = (node: ProxyNode, filters: Withholding): void =>
    source.withhold(node, new Map([...filters].map(([key, filter]) => [key, filter && keptKey(filter)])));
  const withhold = (id: string, filters: Withholding): void => {
    withheld.set(id, filters);
    for (const filter of filters.values()) if (filter) kept.set(keptKey(filter), filter);
    // What is told meanwhile may change it once more.
    for (const node of nodes.get(id) ?? []) apply(node, withheld.get(id) ?? filters);
    const used = new Set([...withheld.values()].flatMap((all) => [...all.values()].map((one) => one && keptKey(one))));
    for (const key of kept.keys()) if (!used.has(key)) kept.delete(key);
  };
  const connect: ResourceSource["connect"] = (node, identity, changed) => {
    const session = source.connect(node, identity, changed);
    const same = nodes.get(node.id) ?? new Set();
    nodes.set(node.id, same.add(node));
    const filters = withheld.get(node.id);
    if (filters) apply(node, filters);
    return {
      ...{ ready: session.ready, all: session.all, get: session.get, forget: session.forget },
      close() {
        same.delete(node);
        if (same.size === 0) nodes.delete(node.id);
        session.close();
      },
    };
  };
  generations.subscribe((changed) => {
    for (const [id, filters] of withheld)
      if (filters.has(changed)) withhold(id, new Map([...filters].filter(([key]) => key !== changed)));
  });
  const ads = createAds({
    source: { connect },
    identifier: "{}",
    ready: () => true,
    log: silentLogger,
    now: () => new Date(),
    uuid: randomUUID,
    virtualHosts: true,
    metrics,
    onRefusals: () => quarantine?.look(),
  });
  const quarantine = options.quarantine
    ? createQuarantine({ ...{ graph, generations, kept, ads }, resources: source, onChange() {} })
    : undefined;
  const programmed = createProgrammed({
    ...{ graph, resources: source, ads },
    kinds: new Map(kindNames().map(([name, { group, kind }]) => [name, watched.objects(group, kind)])),
    withheld: (node, filter) => quarantine?.of(node, filter),
    isOpen: (node) => quarantine?.isOpen(node) === true,
    isReady: () => true,
    onFault: (error) => fault("who has what objects made before", error),
    ...(options.tidyTimes ? { tidyTimes: options.tidyTimes } : {}),
  });
  const authenticate = (call: Call): Proven | undefined => {
    const identity = call.metadata(identityHeader);
    return identity === undefined ? undefined : { identity: JSON.parse(identity) };
  };
  const server = createRpcServer({ routes: ads.routes(authenticate), log: silentLogger });
  return {
    get lookUps() {
      return graph.reads;
    },
    change(apply, remove) {
      graph.change(() => {
        for (const object of remove) api.remove(object);
        api.apply(apply);
      });
    },
    async connect({ node, identity }) {
      let news: (News | undefined)[] = [];
      const session = connect(node, identity, (one) => news.push(one));
      await session.ready;
      return {
        all: (type) => new Map(session.all(type).entries()),
        get: session.get,
        told: (type, name) => news.some((one) => !one || one.get(type)?.has(name)),
        forget() {
          news = [];
        },
        close() {
          withheld.delete(node.id);
          session.close();
        },
      };
    },
    withhold: ({ id }, filters) => withhold(id, filters),
    withheldFrom: ({ id }) => withheld.get(id) ?? new Map(),
    before(key) {
      const before = generations.get(key)?.before;
      return typeof before === "object" ? before.filter : undefined;
    },
    push: source.push,
    settled: source.flush,
    followMoves: source.followMoves,
    faults() {
      const before = faults;
      faults = [];
      return before;
    },
    async listen() {
      const address = await server.listen({ host: "127.0.0.1", port: 0 });
      return address.port;
    },
    programmed,
    isSearching: () => ads.connected().some(({ node }) => quarantine?.isOpen(node) === true),
    metrics: metrics.text,
    counts() {
      for (let pass = 0; pass < 2; pass++) graph.sweep();
      const { facets, classes, nodes } = source;
      return {
        ...{ entries: graph.entries, facets, classes, nodes, streams: ads.status().length },
        ...{ calls: server.load().calls, skippedPatches: patchReports.skipped.size },
        ...{ earlier: programmed.kept, refusing: quarantine?.remembered ?? 0, keptFilters: kept.size },
      };
    },
    async close() {
      quarantine?.close();
      source.close();
      api.close();
      await server.close();
    },
  };
}

const keptKey = ({ meta }: Filter): string => `${meta.namespace}/${meta.name}@${meta.generation}`;
