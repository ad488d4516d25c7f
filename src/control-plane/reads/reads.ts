/** The stages and connections of a control plane in; what pages and commands read of it out (`read-api/mesh-reads.ts`). */
import type { Collection, Graph } from "../../collections/index.ts";
import { createRest, type Logger } from "../../lib/index.ts";
import { istioVersion, type KubeObject, reportIntervalMs } from "../../model/index.ts";
import { eachProxy, findProxy } from "../../ops/index.ts";
import type { Figure, Identities, MeshReads, ProxyRow } from "../../read-api/index.ts";
import { type Ads, proxyName } from "../../xds/index.ts";
import { findProblems, type ProblemInputs } from "../controllers/find-problems.ts";
import type { ShowResource } from "../debug/config-dump.ts";
import type { Programmed } from "../programmed/index.ts";
import type { Refusal } from "../refusals.ts";
import type { ControlledSource } from "../source/resource-source.ts";
import type { Stages } from "../stages.ts";
import type { TapSessions, Traffic } from "../traffic/index.ts";
import { createHistoryFile, followChanges } from "./changes/index.ts";
import { findFindings } from "./findings.ts";
import { readGraph, trafficFindings } from "./graph.ts";
import { createMarks } from "./marks.ts";
import { type Inventory, namespaceRows, readNamespace } from "./namespaces.ts";
import { createObjectReads, type FoundProblems } from "./objects.ts";
import { proxyDetail, proxyRow } from "./proxies.ts";
import { createResourceReads } from "./resources.ts";
import { createServiceReads } from "./services.ts";
import { readWorkload } from "./workloads.ts";

export interface MeshReadsInputs {
  readonly graph: Graph;
  readonly stages: Stages;
  readonly ads: Ads;
  readonly resources: ControlledSource;
  readonly showResource: ShowResource;
  /** By the names that provenance has. */
  readonly kinds: ReadonlyMap<string, Collection<KubeObject>>;
  readonly programmed: Programmed;
  refusals(): Promise<readonly Refusal[]>;
  identities(): Identities;
  /** What `findProblems` is to look at. */
  problemInputs(): Promise<ProblemInputs>;
  readonly traffic: Pick<Traffic, "view" | "everywhere">;
  readonly taps: TapSessions;
  readonly why: MeshReads["why"];
  readonly diff: MeshReads["diff"];
  readonly namespaces: Collection<KubeObject>;
  /** Where the last changes are kept for the next start; absent: nowhere. */
  readonly historyFile?: string | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Told of what is still being written then. */
  readonly onEnd: (written: Promise<void>) => void;
  readonly now: () => Date;
}

export function createMeshReads(inputs: MeshReadsInputs): MeshReads {
  const { ads, stages, programmed, kinds, now } = inputs;
  const started = now();
  const { log, historyFile, signal, onEnd } = inputs;
  const changes = followChanges({
    ...{ kinds, now },
    settle: { ...inputs, onFault: (error) => log.error(`who has a change: ${String(error)}`) },
    ...(historyFile === undefined ? {} : { history: createHistoryFile({ path: historyFile, log, signal, onEnd }) }),
  });
  const services = createServiceReads(stages, inputs.traffic);
  const marks = createMarks(stages);
  const problems = createProblemCache(inputs);
  const objects = createObjectReads(inputs, problems, changes);
  // Rates move as often as agents report them, and what is late becomes so by time alone.
  const reports = (): number => Math.floor(now().getTime() / reportIntervalMs);
  const moves = (): string => `${programmed.moves} ${inputs.graph.version} ${changes.moves()} ${reports()}`;

  const proxyRows = async (): Promise<readonly ProxyRow[]> => {
    const rest = createRest();
    const rows: ProxyRow[] = [];
    for (const proxy of eachProxy(ads)) {
      rows.push(proxyRow(proxy));
      await rest();
    }
    return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  };
  const inventory = async (): Promise<Inventory> => ({
    names: inputs.namespaces.keys(),
    services: await services.services(),
    proxies: await proxyRows(),
    objects: await objects.objects(),
  });

  return {
    moves,
    graph: async (question) => readGraph(await inputs.traffic.everywhere(question), question, marks),
    workload: (id, looked) => readWorkload(stages, inputs.traffic, id, looked, proxiesOf(stages, ads, id)),
    namespaces: () => inputs.namespaces.keys(),
    namespaceRows: async () => namespaceRows(stages.mesh, await inventory()),
    namespace: async (name, looked) => readNamespace(stages.mesh, inputs.traffic, await inventory(), name, looked),
    liveRequests: inputs.taps.answer,
    async overview() {
      const rows = await proxyRows();
      const findings = findFindings({
        problems: await problems(),
        refusals: await inputs.refusals(),
        proxies: rows,
        services: await services.services(),
        identities: inputs.identities(),
        traffic: trafficFindings(await inputs.traffic.everywhere({ lastMs: 60_000 })),
        now: now(),
      });
      return {
        version: istioVersion,
        since: started.toISOString(),
        findings,
        figures: figuresOf(inputs, rows.filter(({ state }) => state === "in step").length, rows.length),
      };
    },
    proxies: proxyRows,
    async proxy(id) {
      if (!findProxy(ads, id)) return undefined;
      const refusals = await inputs.refusals();
      const proxy = findProxy(ads, id);
      if (!proxy) return undefined;
      const holder = inputs.identities().proxies.find((one) => one.proxy === proxyName(proxy.node));
      return proxyDetail(proxy, refusals, holder);
    },
    ...createResourceReads(inputs),
    ...services,
    ...objects,
    changes: changes.all,
    change: changes.detail,
    identities: inputs.identities,
    why: inputs.why,
    diff: inputs.diff,
  };
}

/** By the workload that each proxy's address is of. */
function proxiesOf({ registry }: Stages, ads: Ads, id: string): readonly string[] {
  const own = ads.connected().filter(({ node, follows }) => {
    const facts = follows ? registry.workloadAt(node.id.split("~")[1] ?? "") : undefined;
    return facts !== undefined && `${facts.namespace}/${facts.workload}` === id;
  });
  return [...own.map(({ node }) => proxyName(node))];
}

function figuresOf({ stages, resources, kinds }: MeshReadsInputs, inStep: number, all: number): readonly Figure[] {
  const objects = [...kinds.values()].reduce((sum, { size }) => sum + size, 0);
  return [
    { name: "proxies", value: all },
    { name: "in step", value: inStep, note: "have acknowledged all that they were sent" },
    { name: "services", value: stages.registry.services.size },
    { name: "objects", value: objects, note: "of Istio's and the Gateway API's kinds" },
    { name: "classes", value: resources.classes, note: "of proxies that are sent the same" },
  ];
}

/** Looking costs a walk over all objects, so what was found holds until something moves, and for a moment longer. */
function createProblemCache({ graph, problemInputs }: MeshReadsInputs): () => Promise<FoundProblems> {
  let last: { readonly version: number; readonly atMs: number; readonly found: Promise<FoundProblems> } | undefined;
  return () => {
    const atMs = performance.now();
    if (last && (last.version === graph.version || atMs - last.atMs < restMs)) return last.found;
    last = { version: graph.version, atMs, found: problemInputs().then(findProblems) };
    return last.found;
  };
}

const restMs = 1_000;
