/** The stages and connections of a control plane in; what pages and commands read of it out (`read-api/mesh-reads.ts`). */
import type { Collection, Graph } from "../../collections/index.ts";
import { lookInTurns } from "../../dashboard/index.ts";
import { createRest, formatSortedYaml, type Logger } from "../../lib/index.ts";
import { istioVersion, type KubeObject, type ResourceType, reportIntervalMs, types } from "../../model/index.ts";
import { eachProxy, findProxy } from "../../ops/index.ts";
import type {
  Cause,
  Figure,
  Finding,
  Identities,
  MeshReads,
  ObjectDetail,
  ObjectRow,
  ProxyRow,
} from "../../read-api/index.ts";
import type { Renderer } from "../../render/index.ts";
import { type Ads, type ProxyStatus, proxyName, shortName } from "../../xds/index.ts";
import { findProblems, type ObjectProblem, type ProblemInputs } from "../controllers/find-problems.ts";
import type { ShowResource } from "../debug/config-dump.ts";
import { createPartsOf, type Programmed, reachSteps, sayVerdict } from "../programmed/index.ts";
import type { Refusal } from "../refusals.ts";
import type { ControlledSource } from "../resource-source.ts";
import type { Stages } from "../stages.ts";
import type { TapSessions, Traffic } from "../traffic/index.ts";
import { createHistoryFile, followChanges, written } from "./changes/index.ts";
import { findFindings, problemsOf, refused } from "./findings.ts";
import { leadsTo } from "./leads-to.ts";
import { createMarks } from "./marks.ts";
import { type Inventory, namespaceRows, readNamespace } from "./namespaces.ts";
import { proxyDetail, proxyRow } from "./proxies.ts";
import { searchResources } from "./search.ts";
import { createServiceReads } from "./services.ts";
import { readGraph, trafficFindings } from "./traffic.ts";
import { readWorkload } from "./workload.ts";

export interface MeshReadsInputs {
  readonly graph: Graph;
  readonly stages: Stages;
  readonly ads: Ads;
  readonly resources: ControlledSource;
  readonly showResource: ShowResource;
  /** By the names that provenance has. */
  readonly kinds: ReadonlyMap<string, Collection<KubeObject>>;
  readonly programmed: Programmed;
  refusals(): readonly Refusal[];
  identities(): Identities;
  /** What `findProblems` is to look at. */
  problemInputs(): ProblemInputs;
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
  const objects = async (): Promise<readonly ObjectRow[]> => {
    const found = await problems();
    return [...kinds].flatMap(([kind, of]) =>
      of.keys().flatMap((key) => {
        const object = of.get(key);
        return object ? [objectRow(kind, key, object, found)] : [];
      }),
    );
  };
  const inventory = async (): Promise<Inventory> => ({
    names: inputs.namespaces.keys(),
    services: await services.services(),
    proxies: await proxyRows(),
    objects: await objects(),
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
        refusals: inputs.refusals(),
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
    proxy(id) {
      const proxy = findProxy(ads, id);
      if (!proxy) return undefined;
      const holder = inputs.identities().proxies.find((one) => one.proxy === proxyName(proxy.node));
      return proxyDetail(proxy, inputs.refusals(), holder);
    },
    resources(id, type) {
      const sent = sentTo(inputs, id, type);
      return sent && [...sent.renderer.all(sent.type).keys()].sort();
    },
    causes(id, type, names) {
      const sent = sentTo(inputs, id, type);
      return names.map((name) => (sent ? causesOf(sent, name) : []));
    },
    resource(id, type, name) {
      const sent = sentTo(inputs, id, type);
      const json = sent && inputs.showResource(sent.proxy.connectionId, sent.type, name);
      return json && { name, type, json, causes: causesOf(sent, name), next: nextOf(type, name, json) };
    },
    search(id, words, isSeen) {
      const types = searchedTypes.flatMap((type) => {
        const sent = sentTo(inputs, id, type);
        const show = (name: string) => sent && inputs.showResource(sent.proxy.connectionId, sent.type, name);
        return sent ? [{ type, names: [...sent.renderer.all(sent.type).keys()].sort(), show }] : [];
      });
      return types.length === 0 ? undefined : searchResources(types, words, isSeen);
    },
    ...services,
    objects,
    async object(id) {
      const [kind, key] = [id.slice(0, id.indexOf("/")), id.slice(id.indexOf("/") + 1)];
      const object = kinds.get(kind)?.get(key);
      if (!object) return undefined;
      const found = await problems();
      const verdict = await programmed.of(kind, key);
      const latest = changes.of(id).slice(0, maxChanges);
      await lookInTurns(latest);
      return {
        ...objectRow(kind, key, object, found),
        ...textsOf(object),
        findings: findingsOf(id, found, inputs.refusals()),
        ...(verdict ? { programmed: { ...verdict, ...sayVerdict(verdict) } } : {}),
        parts: await partsOf(inputs, kind, key),
        changes: latest,
      };
    },
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

/** Of one object; all are on the page of changes. */
const maxChanges = 50;

const typeNamed = (name: string): ResourceType | undefined =>
  Object.values(types).find((type) => shortName(type) === name);

/** Secrets are shown by their names alone, and found in nothing. */
const searchedTypes = ["LDS", "RDS", "CDS", "EDS", "ECDS"] as const;

interface Sent {
  readonly proxy: ProxyStatus;
  readonly renderer: Renderer;
  readonly type: ResourceType;
}

/** A proxy is looked for among all of the mesh, so it is looked for once. */
function sentTo({ ads, resources }: MeshReadsInputs, id: string, short: string): Sent | undefined {
  const [proxy, type] = [findProxy(ads, id), typeNamed(short)];
  const renderer = proxy && resources.rendererOf(proxy.node);
  return renderer && type && { proxy, renderer, type };
}

const causesOf = ({ renderer, type }: Sent, name: string): readonly Cause[] => renderer.provenance(type, name).causes;

/** A cluster has the endpoints of its own name unless it names others. */
function nextOf(type: string, name: string, json: object): readonly { readonly type: string; readonly name: string }[] {
  const next = leadsTo(json).filter((one) => one.type !== type || one.name !== name);
  const hasOwn = type === "CDS" && "type" in json && json.type === "EDS" && !next.some((one) => one.type === "EDS");
  return hasOwn ? [...next, { type: "EDS", name }] : next;
}

/** Writing a longer one would hold up all others, and nobody reads it on a page. */
const maxYamlBytes = 128 * 1024;

function textsOf(object: KubeObject): Pick<ObjectDetail, "yaml" | "status" | "resourceVersion"> {
  const { resourceVersion } = object.metadata;
  const bytes = JSON.stringify(object).length;
  if (bytes > maxYamlBytes) return { yaml: `# ${bytes} bytes are too many to be shown here: kubectl get -o yaml` };
  return {
    yaml: written(object),
    ...(object.status === undefined ? {} : { status: formatSortedYaml({ status: object.status }) }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

function objectRow(
  kind: string,
  key: string,
  { metadata }: KubeObject,
  found: ReadonlyMap<string, readonly ObjectProblem[]>,
): ObjectRow {
  const { name, namespace = "", generation } = metadata;
  const id = `${kind}/${key}`;
  return {
    ...{ id, kind, namespace, name },
    ...(generation === undefined ? {} : { generation }),
    problems: found.get(id)?.length ?? 0,
  };
}

function findingsOf(
  id: string,
  found: ReadonlyMap<string, readonly ObjectProblem[]>,
  refusals: readonly Refusal[],
): readonly Finding[] {
  const own = refusals.filter(({ blamed }) => blamed.some(({ object }) => object === id));
  return [...refused(own), ...problemsOf(id, found.get(id) ?? [])];
}

const maxParts = 200;

/** Of each class of proxies, what was made from the object; of a large mesh that takes many turns. */
async function partsOf(
  { graph, kinds, resources }: MeshReadsInputs,
  kind: string,
  key: string,
): Promise<ObjectDetail["parts"]> {
  const objects = kinds.get(kind);
  if (!objects) return [];
  const rest = createRest();
  const steps = reachSteps({ graph, resources }, kind, objects, key);
  let step = steps.next();
  for (; !step.done; step = steps.next()) await rest();
  // As provenance calls it.
  const parts = createPartsOf(`${kind.split(".")[0]}/${key}`, step.value);
  const counted = new Map<string, { type: string; name: string; proxies: number }>();
  for (const { renderer, nodes } of [...resources.rendered()]) {
    await rest();
    for (const { type, wanted } of parts(renderer)) {
      const id = `${type} ${wanted.name}`;
      const known = counted.get(id) ?? { type: shortName(type), name: wanted.name, proxies: 0 };
      known.proxies += nodes.size;
      counted.set(id, known);
    }
  }
  return [...counted.values()].slice(0, maxParts);
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
function createProblemCache({ graph, problemInputs }: MeshReadsInputs): () => Promise<ProblemMap> {
  let last: { readonly version: number; readonly atMs: number; readonly found: Promise<ProblemMap> } | undefined;
  return () => {
    const atMs = performance.now();
    if (last && (last.version === graph.version || atMs - last.atMs < restMs)) return last.found;
    last = { version: graph.version, atMs, found: findProblems(problemInputs()) };
    return last.found;
  };
}

type ProblemMap = ReadonlyMap<string, readonly ObjectProblem[]>;
const restMs = 1_000;
