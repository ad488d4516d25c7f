/**
 * The mesh in; encoded resources per connected proxy out. Proxies of one class share a renderer; a change refreshes only
 * the renderers that read something that changed, after a short quiet time, and tells only their proxies.
 */
import { type Memo, sameData } from "../collections/index.ts";
import { createBackoff, createDebounce, keyFor } from "../lib/index.ts";
import type { Mesh, Withheld } from "../mesh/index.ts";
import {
  envoyTypes,
  type Identity,
  type Proxy,
  type ProxyClass,
  type ResourceSet,
  type ResourceType,
} from "../model/index.ts";
import {
  createRendering,
  type EnvoyTypes,
  type PatchReport,
  type Renderer,
  type RenderFault,
  type Rendering,
  type RenderProblem,
  type Steps,
} from "../render/index.ts";
import type { News, ProxyNode, ProxySession, ResourceSource } from "../xds/index.ts";
import { type AskedNames, createAskedNames } from "./asked-names.ts";
import { createPushRounds } from "./push-rounds.ts";
import { createSlices, type Slices } from "./slices.ts";

export interface ResourceSourceOptions {
  readonly mesh: Mesh;
  proxyOf(node: ProxyNode, identity: Identity | undefined): Proxy;
  classOf(proxy: Proxy, withheld?: Withheld): ProxyClass;
  readonly debounceMs: number;
  readonly debounceMaxMs: number;
  /** A fault of ours: what could not be made again stays as it was. Without a proxy, it is in a part that many share. */
  readonly onFault: (proxy: ProxyClass | undefined, fault: Pick<RenderFault, "name" | "error">) => void;
  /** What EnvoyFilters may name; loaded before the first proxy connects where there are any. */
  readonly envoyTypes?: EnvoyTypes;
  /** Told for each patch and class once: applied, or why not. */
  readonly onPatch?: (report: PatchReport) => void;
  /** Told of what users wrote and could not be used, by each class that met it. */
  readonly onProblem?: (problem: RenderProblem) => void;
  /** Called with each proxy that connects; what it returns is called when the proxy has gone. */
  readonly admit?: (proxy: ProxyClass) => () => void;
  /** Told, when changes are let through, how long the first of them has waited. */
  readonly onDebounced?: (waitedMs: number) => void;
  /** Told when a push round starts, with how many classes it concerns. */
  readonly onPush?: (classes: number) => void;
  /** Told when all that it concerns is made, and how long that took. */
  readonly onMade?: (tookMs: number) => void;
}

/** Told, while it wants to be, when a class of proxies, or one that goes to another class, is given another set. */
export interface MoveListener {
  wants(): boolean;
  moved(move: SetMove): void;
}

export interface SetMove {
  /** The same for all moves of the same proxies. */
  readonly who: object;
  readonly proxies: number;
  readonly type: ResourceType;
  readonly before: ResourceSet;
  readonly now: ResourceSet;
  /** Of the graph, when the set was made. */
  readonly version: number;
}

export interface ControlledSource extends ResourceSource {
  followMoves(listener: MoveListener): void;
  /** Refreshes what is due without waiting for a quiet time. */
  push(): Promise<void>;
  /** The same until nothing is due any more, and all that waits for others is made; for tests and forced pushes. */
  flush(): Promise<void>;
  /** Up to which version of the graph all that its changes concern is made: proxies have been told of it. */
  readonly made: number;
  /** What renders for each class of connected proxies, and the nodes of these; without those that are made for the first time. */
  rendered(): Iterable<{ readonly renderer: Renderer; readonly nodes: ReadonlySet<ProxyNode> }>;
  /** Makes what a connected proxy is sent without some EnvoyFilters. */
  withhold(node: ProxyNode, filters: Withheld): void;
  /** What was withheld from it last. */
  withheldFrom(node: ProxyNode): Withheld | undefined;
  /** Makes, in slices, what a class would be sent, for whoever looks at it without a proxy, and for whom none waits; they dispose of it. */
  look(proxyClass: ProxyClass): Promise<Renderer>;
  /** The same for a class whose proxies may come: whoever has come does not wait for it. */
  ahead(proxyClass: ProxyClass): Promise<Renderer>;
  /** What renders for a connected proxy, by the node it connected with: its resources and their causes. */
  rendererOf(node: ProxyNode): Renderer | undefined;
  readonly classes: number;
  /** The classes of connected proxies. */
  proxyClasses(): IteratorObject<ProxyClass>;
  /** Connected proxies. */
  readonly nodes: number;
  /** Connected proxies that no service selects. */
  readonly withoutService: number;
  /** Facets that parts are kept for. */
  readonly facets: number;
  /** By recipe: what is kept, and how often something was made. */
  readonly parts: Rendering["counts"];
  close(): void;
}

interface Known {
  readonly node: ProxyNode;
  readonly identity: Identity | undefined;
  last: ProxyClass | undefined;
}

interface Member {
  readonly id: string;
  readonly node: ProxyNode;
  group: Group;
  readonly changed: (news?: News) => void;
}

interface Group {
  readonly key: string;
  readonly renderer: Renderer;
  readonly members: Set<Member>;
  /** Pending while what the class has is made for the first time. */
  ready: Promise<void> | undefined;
}

/** How long rendering may keep the event loop from everything else: a certificate needs three turns, each with such a slice. */
const clock = { sliceMs: 4, nowMs: () => performance.now() };

export function createResourceSource(options: ResourceSourceOptions): ControlledSource {
  const { mesh } = options;
  const groups = new Map<string, Group>();
  const members = new Map<string, Member>();
  /** Each connection has a node of its own. */
  const membersByNode = new Map<ProxyNode, Member>();
  const nodes = new Map<string, Known>();
  const dueGroups = new Set<Group>();
  const dueMembers = new Set<string>();
  /** Apart, so that a push does not wait until all of a herd is served, and no proxy for those who only look. */
  const [newClasses, pushes] = [createSlices(clock), createSlices(clock)];
  const [expected, readers] = [createSlices(clock), createSlices(clock)];
  let connections = 0;
  const rendering = createRendering(mesh, {
    onFault: (fault) => options.onFault(undefined, fault),
    ...(options.envoyTypes ? { envoyTypes: options.envoyTypes } : {}),
    onPatch: (report) => options.onPatch?.(report),
    onProblem: (problem) => options.onProblem?.(problem),
  });

  const moveListeners = new Set<MoveListener>();
  /** What is given now; the function it returns tells what is given then. */
  const watchMoves = (from: Renderer): ((to: Renderer, who: object, proxies: number) => void) => {
    const wanting = [...moveListeners].filter((listener) => listener.wants());
    if (wanting.length === 0) return noMove;
    const sets = envoyTypes.map((type) => [type, from.set(type)] as const);
    return (to, who, proxies) => {
      for (const [type, before] of sets) {
        const now = to.set(type);
        if (now === before) continue;
        for (const { moved } of wanting) moved({ who, proxies, type, before, now, version: mesh.graph.version });
      }
    };
  };

  const debounce = createDebounce({
    quietMs: options.debounceMs,
    maxMs: options.debounceMaxMs,
    run(waitedMs) {
      options.onDebounced?.(waitedMs);
      rounds.run().catch((error: unknown) => options.onFault(undefined, { name: "a push", error }));
    },
  });
  const withheld = mesh.graph.source<Withheld>("EnvoyFilters withheld", { equals: sameEntries });
  const classes: Memo<ProxyClass> = mesh.graph.memo(
    "class",
    (id) => {
      const known = nodes.get(id);
      if (!known) throw new Error(`no proxy ${id}`);
      known.last = classify(known, withheld.get(id));
      return known.last;
    },
    {
      equals: sameData,
      onInvalidate(id) {
        dueMembers.add(id);
        debounce.signal();
      },
    },
  );

  /** The first class has to be made; after that a fault of ours leaves the proxy in the class it has. */
  const classify = ({ node, identity, last }: Known, filters: Withheld | undefined): ProxyClass => {
    try {
      return Object.freeze(options.classOf(options.proxyOf(node, identity), filters));
    } catch (error) {
      if (!last) throw error;
      options.onFault(last, { name: `the class of ${node.id}`, error });
      return last;
    }
  };

  const groupFor = (proxyClass: ProxyClass): Group => {
    const key = classKey(proxyClass);
    const known = groups.get(key);
    if (known) return known;
    const renderer = rendering.renderer(proxyClass, () => {
      dueGroups.add(group);
      debounce.signal();
    });
    const group: Group = { key, renderer, members: new Set(), ready: undefined };
    groups.set(key, group);
    // Most of what a class has was made for others before: then there is nothing to wait for.
    group.ready = newClasses.run(safely(proxyClass, renderer.steps()))?.then(() => {
      group.ready = undefined;
    });
    return group;
  };

  /** What fails here fails again when it is asked for, and is told then. */
  function* safely(proxyClass: ProxyClass, steps: Steps): Steps {
    try {
      yield* steps;
    } catch (error) {
      options.onFault(proxyClass, { name: "a class of proxies", error });
    }
  }

  const isThere = (group: Group): boolean => groups.get(group.key) === group;

  const dispose = (group: Group): void => {
    group.renderer.dispose();
    groups.delete(group.key);
    dueGroups.delete(group);
    failed.delete(group);
  };

  const leave = (member: Member): void => {
    member.group.members.delete(member);
    if (member.group.members.size === 0) dispose(member.group);
  };

  /** A proxy whose class came out different (a label, a service it now belongs to) moves to another renderer. */
  const reclassify = async (id: string): Promise<void> => {
    const group = members.has(id) ? groupFor(classes.get(id)) : undefined;
    // Until the other class is made, the proxy keeps what it has.
    await group?.ready;
    // Another proxy of that class may have come and gone meanwhile, and the class with it.
    if (group && !isThere(group)) return reclassify(id);
    const member = members.get(id);
    // Its class may have come out different once more meanwhile, and that one may have been there.
    if (group && member && classKey(classes.get(id)) !== group.key) {
      drop(group);
      return reclassify(id);
    }
    if (!group || !member || group === member.group) return drop(group);
    watchMoves(member.group.renderer)(group.renderer, member, 1);
    leave(member);
    group.members.add(member);
    member.group = group;
    member.changed();
  };

  /** A fault over one proxy must not keep the others from their classes; it stays where it is. */
  const reclassifySafely = async (id: string): Promise<void> => {
    try {
      await reclassify(id);
    } catch (error) {
      options.onFault(members.get(id)?.group.renderer.proxy, { name: `the class of ${nodes.get(id)?.node.id}`, error });
    }
  };

  /** A group that was made for a proxy that has gone meanwhile. */
  const drop = (group: Group | undefined): void => {
    if (group && group.members.size === 0 && isThere(group)) dispose(group);
  };

  /** What could not be made is tried again, though nothing of what it reads may change. */
  const failed = new Set<Group>();
  const backoff = createBackoff({ minMs: 1000, maxMs: 60_000, random: Math.random });
  let retry: NodeJS.Timeout | undefined;
  const tryAgain = (): void => {
    retry = undefined;
    for (const group of failed) dueGroups.add(group);
    debounce.signal();
  };

  /** A fault in one class must not keep the others from their news. */
  const refresh = (group: Group): void => {
    const { renderer, members: concerned } = group;
    try {
      const tellMoves = watchMoves(renderer);
      const news = renderer.refresh();
      if (news.size > 0) for (const member of concerned) member.changed(news);
      tellMoves(renderer, group, concerned.size);
      failed.delete(group);
    } catch (error) {
      failed.add(group);
      retry ??= setTimeout(tryAgain, backoff.nextMs()).unref();
      options.onFault(renderer.proxy, { name: "a class of proxies", error });
    }
  };

  const bringUpToDate = async (group: Group): Promise<void> => {
    if (!isThere(group)) return;
    // What many classes share is made again in slices; after that each class takes little.
    if (!group.renderer.isMade()) await pushes.run(safely(group.renderer.proxy, group.renderer.steps()));
    if (isThere(group)) refresh(group);
  };

  /** What is only told or tidied up must not keep anybody from what is due. */
  const guarded = (name: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      options.onFault(undefined, { name, error });
    }
  };

  const round = async (): Promise<void> => {
    for (const id of take(dueMembers)) {
      // So that streams and probes are served in between.
      await pushes.rest();
      // Its new class may have to wait for a herd, which has nothing yet: the proxy keeps what it has meanwhile.
      rounds.beside(reclassifySafely(id));
    }
    const due = take(dueGroups);
    guarded("the start of a push", () => options.onPush?.(due.length));
    const startedMs = clock.nowMs();
    for (const group of due) {
      const rest = pushes.rest();
      if (rest) await rest;
      if (group.ready) rounds.beside(group.ready.then(() => bringUpToDate(group)));
      else if (isThere(group) && group.renderer.isMade()) refresh(group);
      else await bringUpToDate(group);
    }
    guarded("the end of a push", () => options.onMade?.(clock.nowMs() - startedMs));
    guarded("a sweep", () => mesh.graph.sweep());
    if (failed.size === 0) backoff.reset();
  };
  const isDue = (): boolean => dueMembers.size > 0 || dueGroups.size > 0;
  const rounds = createPushRounds({
    ...{ isDue, round },
    version: () => mesh.graph.version,
    isWhole: () => failed.size === 0,
  });

  const lookIn = async (slices: Slices, proxyClass: ProxyClass): Promise<Renderer> => {
    const renderer = rendering.renderer(proxyClass);
    try {
      await slices.run(renderer.steps());
      return renderer;
    } catch (error) {
      renderer.dispose();
      throw error;
    }
  };

  const forget = (id: string): void => {
    members.delete(id);
    nodes.delete(id);
    classes.drop(id);
    withheld.delete(id);
    dueMembers.delete(id);
  };

  const enter = (id: string, node: ProxyNode, changed: Member["changed"], group: Group): ProxySession => {
    const release = options.admit?.(group.renderer.proxy);
    const member: Member = { id, node, changed, group };
    members.set(id, member);
    membersByNode.set(node, member);
    group.members.add(member);
    /** Nearly every proxy asks for what its class has. */
    let asked: AskedNames | undefined;
    return {
      get ready() {
        return member.group.ready;
      },
      all: (type) => member.group.renderer.set(type),
      get(type, name) {
        const { renderer } = member.group;
        const listed = renderer.set(type).get(name);
        if (listed) return listed;
        asked ??= createAskedNames();
        return asked.get(renderer, type, name);
      },
      forget: (type, name) => asked?.forget(type, name),
      close() {
        forget(id);
        if (membersByNode.get(node) === member) membersByNode.delete(node);
        asked?.close();
        leave(member);
        release?.();
      },
    };
  };

  return {
    connect(node, identity, changed): ProxySession {
      const id = `${++connections}`;
      nodes.set(id, { node, identity, last: undefined });
      let group: Group | undefined;
      try {
        group = groupFor(classes.get(id));
        return enter(id, node, changed, group);
      } catch (error) {
        forget(id);
        drop(group);
        throw error;
      }
    },
    push: rounds.run,
    flush: rounds.settle,
    followMoves: (listener) => void moveListeners.add(listener),
    get made() {
      const isAll = !rounds.isBusy && !isDue() && failed.size === 0;
      return isAll ? mesh.graph.version : rounds.made;
    },
    *rendered() {
      for (const { renderer, members: all, ready } of groups.values())
        if (!ready) yield { renderer, nodes: new Set(all.values().map(({ node }) => node)) };
    },
    withhold(node, filters) {
      const member = membersByNode.get(node);
      if (member && filters.size > 0) withheld.set(member.id, filters);
      else if (member) withheld.delete(member.id);
    },
    look: (proxyClass) => lookIn(readers, proxyClass),
    ahead: (proxyClass) => lookIn(expected, proxyClass),
    rendererOf: (node) => membersByNode.get(node)?.group.renderer,
    get classes() {
      return groups.size;
    },
    proxyClasses: () => groups.values().map(({ renderer }) => renderer.proxy),
    get nodes() {
      return nodes.size;
    },
    get withoutService() {
      return groups.values().reduce((sum, { renderer: { proxy }, members: all }) => {
        return sum + (proxy.targets.length === 0 ? all.size : 0);
      }, 0);
    },
    withheldFrom(node) {
      const member = membersByNode.get(node);
      return member && withheld.get(member.id);
    },
    get facets() {
      return rendering.facets;
    },
    get parts() {
      return rendering.counts;
    },
    close() {
      debounce.stop();
      clearTimeout(retry);
    },
  };
}

const noMove = (): void => {};

function sameEntries(a: Withheld, b: Withheld): boolean {
  return a.size === b.size && a.keys().every((key) => b.has(key) && b.get(key) === a.get(key));
}

function take<T>(set: Set<T>): readonly T[] {
  const all = [...set];
  set.clear();
  return all;
}

/** The same class gives the same key whatever the order of its labels. All have all fields, in one order. */
function classKey(proxyClass: ProxyClass): string {
  return keyFor(JSON.stringify(Object.values(proxyClass).map(ordered)));
}

function ordered(value: unknown): unknown {
  if (!isObject(value)) return value;
  if (Array.isArray(value)) return value.some(isObject) ? value.map(ordered) : value;
  const keys = Object.keys(value).sort();
  return [keys, keys.map((key) => ordered((value as Readonly<Record<string, unknown>>)[key]))];
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;
