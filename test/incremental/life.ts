/**
 * A seed in; a random life of a mesh out: steps that each say all they do, so that a life from which some are left out
 * is a life too.
 */
import { isRecord } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { createRandom, type Random } from "../random.ts";
import * as gatewayApi from "./objects/gateway-api.ts";
import * as kubernetes from "./objects/kubernetes.ts";
import * as policy from "./objects/policy.ts";
import { keySets, meshConfig, secretAccess } from "./objects/settings.ts";
import * as traffic from "./objects/traffic.ts";
import { type LiveProxy, proxy } from "./proxies.ts";
import { reordered } from "./reordered.ts";
import { spiced } from "./spice.ts";
import { apps, namespaces, times } from "./words.ts";
import type { WorldSettings } from "./world.ts";

export type Step = (
  | { readonly does: "change"; readonly apply: readonly KubeObject[]; readonly remove: readonly KubeObject[] }
  | { readonly does: "connect"; readonly proxy: LiveProxy }
  | { readonly does: "disconnect"; readonly name: string }
  | {
      readonly does: "withhold";
      /** Of the proxy. */
      readonly name: string;
      /** Keys of EnvoyFilters; the others are given back to it. */
      readonly filters: readonly string[];
      /** What it has of them meanwhile. */
      readonly instead: "before" | "nothing";
    }
) & {
  /**
   * The next step comes so many turns of the event loop later, most often in the middle of the round that makes this one
   * known; where absent, when all has settled.
   */
  readonly turns?: number;
};

/** All steps of one, and the settings of the control plane that lives it. */
export interface Life {
  readonly steps: readonly Step[];
  readonly settings: WorldSettings;
}

interface Writer {
  /** How often it is chosen, against the others. */
  readonly weight: number;
  readonly names: readonly string[];
  /** Without namespaces the kind has none. */
  readonly namespaced?: false;
  readonly write: (random: Random, name: string, namespace: string) => KubeObject;
}

const users = ["red", "green", "blue"];

const writers: readonly (Writer & { readonly in?: readonly string[] })[] = [
  { weight: 1, names: namespaces, namespaced: false, write: kubernetes.namespaceObject },
  { weight: 1, names: kubernetes.nodeNames, namespaced: false, write: kubernetes.node },
  { weight: 4, names: ["p0", "p1", "p2", "p3", "p4", "p5"], in: users, write: kubernetes.pod },
  { weight: 6, names: apps, in: users, write: kubernetes.service },
  { weight: 5, names: apps.flatMap((app) => [`${app}-1`, `${app}-2`]), in: users, write: kubernetes.slice },
  { weight: 1, names: ["cert1", "cert2", "cert1-cacert"], write: kubernetes.secret },
  { weight: 0.5, names: ["ca"], in: users, write: kubernetes.configMap },
  { weight: 1, names: ["in1", "in2"], in: users, write: kubernetes.ingress },
  { weight: 0.3, names: ["istio", "other"], namespaced: false, write: kubernetes.ingressClass },
  { weight: 6, names: ["vs1", "vs2", "vs3", "part1", "part2"], write: traffic.virtualService },
  { weight: 5, names: ["dr1", "dr2", "dr3"], write: traffic.destinationRule },
  { weight: 4, names: ["se1", "se2", "se3"], write: traffic.serviceEntry },
  { weight: 2, names: ["we1", "we2"], in: users, write: traffic.workloadEntry },
  { weight: 3, names: ["default", "sel1", "sel2"], write: traffic.sidecar },
  { weight: 2, names: ["gw1", "gw2"], write: traffic.gateway },
  { weight: 2, names: ["ef1", "ef2"], write: traffic.envoyFilter },
  { weight: 2, names: ["ap1", "ap2"], write: policy.authorizationPolicy },
  { weight: 2, names: ["default", "pa1"], write: policy.peerAuthentication },
  { weight: 1, names: ["ra1"], write: policy.requestAuthentication },
  { weight: 1.5, names: ["default", "te1"], write: policy.telemetry },
  { weight: 1, names: ["pc1", "pc2"], write: policy.proxyConfig },
  { weight: 1, names: ["wp1"], write: policy.wasmPlugin },
  { weight: 0.7, names: ["te1"], write: policy.trafficExtension },
  { weight: 0.2, names: ["wg1"], in: users, write: traffic.workloadGroup },
  { weight: 0.5, names: ["istio"], namespaced: false, write: gatewayApi.gatewayClass },
  { weight: 1.5, names: ["kgw1", "kgw2"], in: ["istio-system", "red"], write: gatewayApi.kubeGateway },
  { weight: 0.5, names: ["ls1"], in: ["red"], write: gatewayApi.listenerSet },
  { weight: 1.5, names: ["hr1", "hr2"], in: users, write: gatewayApi.httpRoute },
  { weight: 0.5, names: ["gr1"], in: users, write: gatewayApi.grpcRoute },
  { weight: 0.7, names: ["tr1"], in: users, write: gatewayApi.tcpRoute },
  { weight: 0.5, names: ["lr1"], in: users, write: gatewayApi.tlsRoute },
  { weight: 0.7, names: ["rg1"], in: users, write: gatewayApi.referenceGrant },
  { weight: 0.5, names: ["bt1"], in: users, write: gatewayApi.backendTlsPolicy },
  { weight: 6, names: ["istio"], in: ["istio-system"], write: (random) => meshConfig(random) },
  { weight: 0.5, names: ["key-sets"], in: ["istio-system"], write: (random) => keySets(random) },
  { weight: 0.5, names: ["secret-access"], in: ["istio-system"], write: (random) => secretAccess(random) },
];

/** The writers, each as often as its weight says. */
const drawn = writers.flatMap((writer) => Array.from({ length: Math.round(writer.weight * 10) }, () => writer));

const revisions = ["canary", "stable"] as const;
const revisionChance = 0.3;

const firstProxies = 6;

/** How often a step is followed by the next before it has settled, and after how many turns. */
const hasty = { chance: 0.45, turns: [0, 1, 1, 2, 3, 5, 8, 15, 30, 60] };

/** How often a step is followed by one about EnvoyFilters that proxies refuse. */
const refusalChance = 0.35;

/** How often all objects are written again with their keys in another order, which an API server calls no change. */
const reorderChance = 0.1;

/** By the seed: none, one of several revisions, routes of own hosts only, or both. */
const settingsOf = (seed: number): WorldSettings => ({
  ...(seed % 2 === 1 ? { revision: revisions[0] } : {}),
  ...(seed % 4 >= 2 ? { ownHostsOnly: true } : {}),
});

/** Begins with a mesh and its proxies; `steps` changes follow. */
export function createLife(seed: number, steps: number): Life {
  const random = createRandom(seed);
  // Of its own, so that a seed has the same steps whatever comes between them.
  const pace = createRandom(~seed);
  const refusals = createRandom(seed + 1_000_003);
  const moves = createRandom(seed + 2_000_003);
  const orders = createRandom(seed + 3_000_003);
  const refused = new Map<string, KubeObject>();
  const written = new Map<string, KubeObject>();
  const live = new Map<string, number>();
  let clock = 0;
  let slots = 0;

  const write = (): KubeObject => {
    const writer = random.pick(drawn);
    const name = random.pick(writer.names);
    const namespace = writer.namespaced === false ? "" : random.pick(writer.in ?? namespaces);
    const plain = writer.write(random, name, namespace);
    const made = ofRevision(moves, random.chance(0.3) ? spiced(random, plain) : plain);
    const before = written.get(idOf(made));
    const dated = withDates(made, before, clock);
    written.set(idOf(dated), dated);
    return dated;
  };
  const removed = (): KubeObject | undefined => {
    if (written.size === 0) return undefined;
    const id = random.pick([...written.keys()]);
    const object = written.get(id);
    written.delete(id);
    return object;
  };
  const connect = (): Step => {
    const made = proxy(random, slots);
    live.set(made.name, slots++);
    return { does: "connect", proxy: made };
  };
  const disconnect = (): Step => {
    const name = random.pick([...live.keys()]);
    live.delete(name);
    return { does: "disconnect", name };
  };
  const change = (): Step => {
    const many = random.chance(0.15);
    const gone = Array.from({ length: random.chance(0.3) ? (many ? 3 : 1) : 0 }, removed);
    const remove = gone.filter((object) => object !== undefined);
    const apply = remove.length > 0 && !many ? [] : times(random, 1, many ? 5 : 1, write);
    return { does: "change", apply, remove };
  };
  /** Of any proxy that it may reach, so that there is something to withhold. */
  const refusedFilter = (): Step => {
    const namespace = refusals.pick(["istio-system", "istio-system", ...users]);
    const { spec, ...plain } = traffic.envoyFilter(refusals, "refused", namespace);
    const made = { ...plain, spec: { configPatches: isRecord(spec) ? spec.configPatches : [] } };
    const dated = withDates(made, refused.get(idOf(made)), clock);
    refused.set(idOf(dated), dated);
    return { does: "change", apply: [dated], remove: [] };
  };
  const withhold = (): Step => {
    const there = [...refused.values(), ...written.values()].filter(({ kind }) => kind === "EnvoyFilter");
    return {
      does: "withhold",
      name: refusals.pick([...live.keys()]),
      filters: there.filter(() => refusals.chance(0.7)).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
      instead: refusals.pick(["before", "nothing"]),
    };
  };
  const refusal = (): Step => {
    const [known] = refused;
    if (known && refusals.chance(0.6)) return withhold();
    if (!known || refusals.chance(0.8)) return refusedFilter();
    refused.delete(known[0]);
    return { does: "change", apply: [], remove: [known[1]] };
  };
  const reorder = (): Step => {
    const there = [...written.values(), ...refused.values()];
    return { does: "change", apply: there.map((object) => reordered(orders, object)), remove: [] };
  };
  const next = (): readonly Step[] => {
    clock++;
    const one = pace.chance(hasty.chance) ? { ...step(), turns: pace.pick(hasty.turns) } : step();
    return [
      one,
      ...(refusals.chance(refusalChance) ? [refusal()] : []),
      ...(orders.chance(reorderChance) ? [reorder()] : []),
    ];
  };
  const step = (): Step => {
    if (live.size < 3 || (live.size < 8 && random.chance(0.06))) return connect();
    return random.chance(0.04) ? disconnect() : change();
  };

  const first: Step = { does: "change", apply: Array.from({ length: 40 }, write), remove: [] };
  return {
    settings: settingsOf(seed),
    steps: [first, ...Array.from({ length: firstProxies }, connect), ...Array.from({ length: steps }, next).flat()],
  };
}

/** Some objects are of one revision, and move to another or to none when they are written again. */
function ofRevision(random: Random, object: KubeObject): KubeObject {
  if (!random.chance(revisionChance)) return object;
  const labels = { ...object.metadata.labels, "istio.io/rev": random.pick(revisions) };
  return { ...object, metadata: { ...object.metadata, labels } };
}

export function idOf({ apiVersion, kind, metadata }: KubeObject): string {
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  return `${group}/${kind}/${metadata.namespace ?? ""}/${metadata.name}`;
}

/** As an API server would: the date of its making stays, the generation counts. */
function withDates(object: KubeObject, before: KubeObject | undefined, clock: number): KubeObject {
  const metadata = {
    ...object.metadata,
    creationTimestamp: before?.metadata.creationTimestamp ?? new Date(1.7e12 + clock * 1000).toISOString(),
    generation: (before?.metadata.generation ?? 0) + 1,
    uid: before?.metadata.uid ?? `uid-${idOf(object)}-${clock}`,
  };
  return { ...object, metadata };
}
