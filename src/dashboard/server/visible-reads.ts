/**
 * What can be read of a mesh, and who looks, in; the same without what they may not see out. Every read has to be written
 * here: one that is not does not compile.
 */
import { FairleadError } from "../../lib/index.ts";
import type {
  Cause,
  Change,
  Finding,
  Identities,
  LiveRequest,
  Mark,
  MeshReads,
  Mistake,
  NamespaceDetail,
  NamespaceRow,
  ObjectDetail,
  Overview,
  ProxyDetail,
  ServiceDetail,
  TapAnswer,
  WhyAnswer,
} from "../../read-api/index.ts";
import { seenChange, seenDetail } from "./seen-changes.ts";
import { seesAll, type Viewer } from "./viewer.ts";

/** Whose it is: objects of a kind in a namespace, empty where they are of none. */
interface Place {
  readonly kind: string;
  readonly namespace: string;
}

const notShown = "This names things of namespaces that you may not see.";

/** One for all that cannot be said: which of them it was would tell what there is. */
const notAnswered: Mistake = {
  code: "forbidden",
  error: "There is no such caller or destination, or the request passes something that you may not see.",
  remedy: "Ask about proxies and hosts of namespaces that you may see, with the port.",
};

export function visibleReads(reads: MeshReads, viewer: Viewer): MeshReads {
  if (viewer === seesAll) return reads;
  const ofPods = async (): Promise<(namespace: string) => boolean> => viewer.sees("Pod", await reads.namespaces());

  /** Those whose places can be seen, each of them where there are several. */
  async function visible<T>(rows: readonly T[], placesOf: (row: T) => readonly Place[]): Promise<readonly T[]> {
    const all = rows.map(placesOf);
    const kinds = Map.groupBy(all.flat(), ({ kind }) => kind);
    const asked = [...kinds].map(async ([kind, places]) => {
      const sees = await viewer.sees(kind, new Set(places.map(({ namespace }) => namespace)));
      return [kind, sees] as const;
    });
    const sees = new Map(await Promise.all(asked));
    const isSeen = ({ kind, namespace }: Place): boolean => sees.get(kind)?.(namespace) === true;
    return rows.filter((_, i) => all[i]?.every(isSeen));
  }
  const visibleOne = async <T>(row: T | undefined, placesOf: (row: T) => readonly Place[]): Promise<T | undefined> =>
    row === undefined ? undefined : (await visible([row], placesOf))[0];

  /** Whether a text has the name of a namespace that is not seen, in whatever form: a host, an identity, a path. */
  async function hiddenNames(): Promise<(text: string) => boolean> {
    const sees = await ofPods();
    const hidden = new Set((await reads.namespaces()).filter((namespace) => !sees(namespace)));
    return (text) => text.match(/[a-z0-9-]+/g)?.some((word) => hidden.has(word)) === true;
  }

  async function seenFindings(findings: readonly Finding[]): Promise<readonly Finding[]> {
    const names = await hiddenNames();
    return (await visible(findings, findingPlaces)).map((finding) =>
      names(finding.message) ? { ...finding, message: notShown } : finding,
    );
  }

  async function seenOverview({ findings, figures, ...rest }: Overview): Promise<Overview> {
    const [proxies, services, objects] = [await self.proxies(), await self.services(), await self.objects()];
    const counted = new Map([
      ["proxies", proxies.length],
      ["in step", proxies.filter(({ state }) => state === "in step").length],
      ["services", services.length],
      ["objects", objects.length],
    ]);
    return {
      ...rest,
      findings: await seenFindings(findings),
      figures: figures.flatMap((figure) => {
        const value = counted.get(figure.name);
        return value === undefined ? [] : [{ ...figure, value }];
      }),
    };
  }

  async function seenProxy(proxy: ProxyDetail): Promise<ProxyDetail> {
    const names = await hiddenNames();
    const own = await visible(proxy.refuses, ({ objects }) => objects.flatMap(causePlaces));
    return {
      ...proxy,
      types: proxy.types.map((type) => (names(type.error) ? { ...type, error: notShown } : type)),
      held: proxy.held
        .filter(({ name }) => !names(name))
        .map((held) => ({ ...held, clusters: held.clusters.filter((name) => !names(name)) })),
      refuses: own.filter(({ resource, words }) => !names(resource) && !names(words)),
    };
  }

  async function seenService(service: ServiceDetail): Promise<ServiceDetail> {
    const names = await hiddenNames();
    return {
      ...service,
      endpointList: service.endpointList.filter(({ workload, identity }) => !names(`${workload} ${identity}`)),
      versions: await seenEffects(service.versions),
      policies: await seenEffects(service.policies),
      routes: (await visible(service.routes, ({ object }) => [placeOf(object)])).filter(
        ({ to, marks }) => !names(JSON.stringify([to, marks])),
      ),
      objects: await visible(service.objects, ({ object }) => [placeOf(object)]),
    };
  }

  /** That something holds is no secret to whom it holds for; whose doing it is may be. */
  async function seenEffects<T extends { readonly object?: string; readonly field?: string }>(
    effects: readonly T[],
  ): Promise<readonly T[]> {
    const seen = new Set(await visible(effects, ({ object }) => (object === undefined ? [] : [placeOf(object)])));
    return effects.map((effect) => {
      const { object: _, field: __, ...rest } = effect;
      return seen.has(effect) ? effect : (rest as T);
    });
  }

  async function seenMarks<T extends { readonly marks: readonly Mark[] }>(rows: readonly T[]): Promise<readonly T[]> {
    const names = await hiddenNames();
    const all = rows.flatMap(({ marks }) => marks).filter(({ says }) => !names(says));
    const seen = new Set(await visible(all, ({ object }) => (object === undefined ? [] : [placeOf(object)])));
    return rows.map((row) => ({ ...row, marks: row.marks.filter((mark) => seen.has(mark)) }));
  }

  async function counted<T extends NamespaceRow>(rows: readonly T[]): Promise<readonly T[]> {
    const by = <R extends { readonly namespace: string }>(all: readonly R[]) =>
      Map.groupBy(all, ({ namespace }) => namespace);
    const [services, proxies] = [by(await self.services()), by(await self.proxies())];
    const objects = by(await self.objects());
    return rows.map((row) => ({
      ...row,
      services: services.get(row.name)?.length ?? 0,
      proxies: proxies.get(row.name)?.length ?? 0,
      objects: objects.get(row.name)?.length ?? 0,
      problems: (objects.get(row.name) ?? []).reduce((sum, { problems }) => sum + problems, 0),
    }));
  }

  async function seenNamespace(found: NamespaceDetail): Promise<NamespaceDetail> {
    const [row = found] = await counted([found]);
    return {
      ...row,
      policies: await seenEffects(found.policies),
      serviceList: await visible(found.serviceList, ({ object }) => [placeOf(object)]),
      objectList: await visible(found.objectList, ({ id }) => [placeOf(id)]),
    };
  }

  async function seenObject(object: ObjectDetail): Promise<ObjectDetail> {
    const [names, findings] = [await hiddenNames(), await seenFindings(object.findings)];
    const { programmed } = object;
    return {
      ...object,
      findings,
      ...(programmed
        ? {
            programmed: {
              ...programmed,
              message: names(programmed.message) ? notShown : programmed.message,
              refusing: programmed.refusing.filter(({ proxy, part, words }) => !names(`${proxy} ${part} ${words}`)),
              waiting: programmed.waiting.filter((proxy) => !names(proxy)),
            },
          }
        : {}),
      parts: object.parts.filter(({ name }) => !names(name)),
      changes: object.changes.map((change) => seenChange(change, names)),
    };
  }

  async function seenIdentities(identities: Identities): Promise<Identities> {
    const names = await hiddenNames();
    const { refused, rotation, ...rest } = identities;
    return {
      ...rest,
      ...(refused === undefined ? {} : { refused: names(refused) ? notShown : refused }),
      ...(rotation ? { rotation: { ...rotation, ignored: rotation.ignored.filter((proxy) => !names(proxy)) } } : {}),
      proxies: await visible(identities.proxies, ({ proxy }) => [proxyPlace(proxy)]),
      issued: await visible(identities.issued, ({ namespace }) => [{ kind: "Pod", namespace }]),
    };
  }

  /** One end at least is seen; of the other nothing is said where it is not. */
  async function seenRequests(batch: TapAnswer): Promise<TapAnswer> {
    const [sees, names] = [await ofPods(), await hiddenNames()];
    const nobody = { namespace: "", workload: "", app: "", version: "" };
    const requests = batch.requests.flatMap((request): readonly LiveRequest[] => {
      const { source, destination, side } = request;
      const [from, to] = [sees(source.namespace), sees(destination.namespace)];
      if (!from && !to) return [];
      const masked = { ...request, source: from ? source : nobody, destination: to ? destination : nobody };
      const seen = (side === "source" ? to : from) ? masked : { ...masked, peerAddress: "" };
      return [to ? seen : { ...seen, service: { host: "", name: "", namespace: "" }, authority: "" }];
    });
    return { ...batch, requests: requests.filter((request) => !names(JSON.stringify(request))) };
  }

  /** What was made from something that is not seen is not seen either. */
  async function seenResources(proxy: string, type: string, all: readonly string[]): Promise<readonly string[]> {
    const names = await hiddenNames();
    const candidates = all.filter((name) => !names(name));
    const causes = await reads.causes(proxy, type, candidates);
    const rows = candidates.map((name, i) => ({ name, causes: causes[i] ?? [] }));
    return (await visible(rows, (row) => row.causes.flatMap(causePlaces))).map(({ name }) => name);
  }

  /** By the name that it has: what was asked for may be a part of it, or its connection. */
  const proxySeen = async (asked: string): Promise<boolean> =>
    (await visibleOne(await reads.proxy(asked), ({ id }) => [proxyPlace(id)])) !== undefined;

  /** Pods of every namespace, and every object and service that there is. */
  async function seesWhole(): Promise<boolean> {
    const [all, sees] = [await reads.namespaces(), await ofPods()];
    const ids = [
      ...(await reads.objects()).map(({ id }) => id),
      ...(await reads.services()).map(({ object }) => object),
    ];
    const seesObjects = (await visible(ids, (id) => [placeOf(id)])).length === ids.length;
    return seesObjects && all.every(sees);
  }

  const self: MeshReads = {
    moves: reads.moves,
    async namespaces() {
      const all = await reads.namespaces();
      const sees = await ofPods();
      return all.filter(sees);
    },
    async graph(question) {
      const graph = await reads.graph({ ...question, sees: await ofPods() });
      return { ...graph, nodes: await seenMarks(graph.nodes), edges: await seenMarks(graph.edges) };
    },
    async workload(id, looked) {
      const sees = await ofPods();
      const isSeen = sees(id.slice(0, id.indexOf("/")));
      const found = isSeen ? await reads.workload(id, { ...looked, sees }) : undefined;
      if (!found) return undefined;
      const names = await hiddenNames();
      return {
        ...found,
        policies: await seenEffects(found.policies),
        services: found.services.filter((service) => !names(service)),
      };
    },
    async liveRequests(query) {
      const sees = await ofPods();
      // Looking costs agents something, and few can look at once.
      if (!query.has("session") && !sees(query.get("namespace") ?? ""))
        throw new FairleadError("forbidden", "you may look at requests of namespaces alone that you may see", {
          hint: "choose one of these",
        });
      return seenRequests(await reads.liveRequests(query));
    },
    async overview() {
      return seenOverview(await reads.overview());
    },
    async proxies() {
      return visible(await reads.proxies(), ({ id }) => [proxyPlace(id)]);
    },
    async proxy(id) {
      const proxy = await visibleOne(await reads.proxy(id), (one) => [proxyPlace(one.id)]);
      return proxy && seenProxy(proxy);
    },
    async resources(proxy, type) {
      const all = (await proxySeen(proxy)) ? await reads.resources(proxy, type) : undefined;
      return all && seenResources(proxy, type, all);
    },
    async causes(proxy, type, asked) {
      if (!(await proxySeen(proxy))) return asked.map(() => []);
      const causes = await reads.causes(proxy, type, asked);
      return Promise.all(causes.map((list) => visible(list, causePlaces)));
    },
    async resource(proxy, type, name) {
      const found = (await proxySeen(proxy)) ? await reads.resource(proxy, type, name) : undefined;
      const seen = await visibleOne(found, ({ causes }) => causes.flatMap(causePlaces));
      const names = await hiddenNames();
      return seen && !names(JSON.stringify(seen)) ? seen : undefined;
    },
    async search(proxy, words) {
      if (!(await proxySeen(proxy))) return undefined;
      const isSeen = async (type: string, name: string) => (await self.resource(proxy, type, name)) !== undefined;
      return reads.search(proxy, words, isSeen);
    },
    async services() {
      return visible(await reads.services(), ({ object }) => [placeOf(object)]);
    },
    async service(id, looked) {
      const found = await reads.service(id, { ...looked, sees: await ofPods() });
      const service = await visibleOne(found, ({ object }) => [placeOf(object)]);
      return service && seenService(service);
    },
    async namespaceRows() {
      const sees = await ofPods();
      return counted((await reads.namespaceRows()).filter(({ name }) => sees(name)));
    },
    async namespace(name, looked) {
      const sees = await ofPods();
      const found = sees(name) ? await reads.namespace(name, { ...looked, sees }) : undefined;
      return found && seenNamespace(found);
    },
    async objects() {
      return visible(await reads.objects(), ({ id }) => [placeOf(id)]);
    },
    async object(id) {
      const [seen] = await visible([id], (one) => [placeOf(one)]);
      const object = seen === undefined ? undefined : await reads.object(id);
      return object && seenObject(object);
    },
    async changes() {
      const seen = await visible<Change>(await reads.changes(), ({ object }) => [placeOf(object)]);
      const names = await hiddenNames();
      return seen.map((change) => seenChange(change, names));
    },
    async change(id) {
      const change = await visibleOne(await reads.change(id), ({ object }) => [placeOf(object)]);
      const names = await hiddenNames();
      return change && seenChange(seenDetail(change, names), names);
    },
    async why(question) {
      const answer = await reads.why(question);
      if ("error" in answer) return answer.isOfQuestion || (await seesWhole()) ? answer : notAnswered;
      const isSeen = (await visibleOne(answer, whyPlaces)) !== undefined;
      const names = await hiddenNames();
      return isSeen && !names(JSON.stringify(answer)) ? answer : notAnswered;
    },
    /** Of what a viewer may see alone, nobody can say what a change does to all; and to take an object away shows it. */
    async diff(question) {
      return (await seesWhole()) ? reads.diff(question) : { code: "forbidden", error: notShown };
    },
    async identities() {
      return seenIdentities(await reads.identities());
    },
  };
  return self;
}

/** `Kind/namespace/name`, or `Kind/name` of what is of no namespace. */
function placeOf(id: string): Place {
  const [kind = "", ...path] = id.split("/");
  return { kind, namespace: path.length > 1 ? (path[0] ?? "") : "" };
}

/** `pod.namespace`; a namespace has no dots. */
const proxyPlace = (id: string): Place => ({ kind: "Pod", namespace: id.slice(id.lastIndexOf(".") + 1) });

/** The mesh's own settings, and nodes, reach everybody and name nobody's things. */
const common: ReadonlySet<string> = new Set(["ConfigMap", "Node"]);

function causePlaces({ object }: Cause): readonly Place[] {
  const { kind, namespace } = placeOf(object);
  if (common.has(kind)) return [];
  if (kind === "Namespace") return [{ kind: "Pod", namespace: object.slice("Namespace/".length) }];
  // Of the two kinds called so, a cause does not say which it is.
  const others = kind === "Gateway" ? [{ kind: "Gateway.gateway.networking.k8s.io", namespace }] : [];
  return [{ kind, namespace }, ...others];
}

/** Of the proxies on the way, and of what decided there. */
const whyPlaces = ({ hops, steps }: WhyAnswer): readonly Place[] => [
  ...hops.map(({ proxy }) => proxyPlace(proxy)),
  ...steps.flatMap(({ deciders }) => deciders.flatMap(causePlaces)),
];

const findingPlaces = ({ object, proxy, namespaces = [] }: Finding): readonly Place[] => [
  ...(object === undefined ? [] : [placeOf(object)]),
  ...(proxy === undefined ? [] : [proxyPlace(proxy)]),
  ...namespaces.map((namespace) => ({ kind: "Pod", namespace })),
];
