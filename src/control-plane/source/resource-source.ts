/**
 * The mesh in; encoded resources per connected proxy out. Proxies of one class share a renderer; a change refreshes only
 * the renderers that read something that changed, after a short quiet time, and tells only their proxies.
 */
import { createDebounce } from "../../lib/index.ts";
import type { Mesh, Withheld } from "../../mesh/index.ts";
import type { ProxyClass, Resource } from "../../model/index.ts";
import {
  createRendering,
  type EnvoyTypes,
  type PatchReport,
  type Renderer,
  type Rendering,
  type RenderProblem,
} from "../../render/index.ts";
import type { ProxyNode, ProxySession, ResourceSource } from "../../xds/index.ts";
import { createSlices } from "../slices.ts";
import { type AskedNames, createAskedNames } from "./asked-names.ts";
import { classKey } from "./class-key.ts";
import { createFailedClasses, type Stuck } from "./failed-classes.ts";
import { createGroups, type Group, type Member } from "./groups.ts";
import { createLooks, type Looks } from "./looks.ts";
import { createProxyClasses, type ProxyClassesOptions } from "./proxy-classes.ts";
import { createPushRounds } from "./push-rounds.ts";
import { createSetMoves, type MoveListener } from "./set-moves.ts";

export interface ResourceSourceOptions extends Omit<ProxyClassesOptions, "onInvalidate"> {
  readonly mesh: Mesh;
  readonly debounceMs: number;
  readonly debounceMaxMs: number;
  /** Told of what could not be made again, and stays as it was. */
  readonly onFault: ProxyClassesOptions["onFault"];
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

/** A class of connected proxies. */
export interface RenderedClass extends Stuck {
  readonly renderer: Renderer;
  readonly nodes: ReadonlySet<ProxyNode>;
}

export interface ControlledSource extends ResourceSource, Looks {
  followMoves(listener: MoveListener): void;
  /** Refreshes what is due without waiting for a quiet time. What fails is told, and nobody has to wait for it: it never rejects. */
  push(): Promise<void>;
  /** The same until nothing is due any more, and all that waits for others is made; for tests and forced pushes. */
  flush(): Promise<void>;
  /** Up to which version of the graph all that its changes concern is made, but for what could not be: proxies have been told of it. */
  readonly made: number;
  /** Another number whenever a class cannot be made any longer, or can again: they are tried again, though nothing has changed. */
  readonly failedMoves: number;
  /** Whether a resource is of before, as it could not be made again. */
  isStale(resource: Resource): boolean;
  /** Without those that are made for the first time. */
  rendered(): Iterable<RenderedClass>;
  /** Makes what a connected proxy is sent without some EnvoyFilters. */
  withhold(node: ProxyNode, filters: Withheld): void;
  /** What was withheld from it last. */
  withheldFrom(node: ProxyNode): Withheld | undefined;
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

/** How long rendering may keep the event loop from everything else: a certificate needs three turns, each with such a slice. */
const clock = { sliceMs: 4, nowMs: () => performance.now() };

export function createResourceSource(options: ResourceSourceOptions): ControlledSource {
  const { mesh, onFault } = options;
  const members = new Map<string, Member>();
  /** Each connection has a node of its own. */
  const membersByNode = new Map<ProxyNode, Member>();
  const dueGroups = new Set<Group>();
  const dueMembers = new Set<string>();
  /** Apart, so that a push does not wait until all of a herd is served. */
  const [newClasses, pushes] = [createSlices(clock), createSlices(clock)];
  let connections = 0;
  const rendering = createRendering(mesh, {
    onFault: (fault) => onFault(undefined, fault),
    ...(options.envoyTypes ? { envoyTypes: options.envoyTypes } : {}),
    onPatch: (report) => options.onPatch?.(report),
    onProblem: (problem) => options.onProblem?.(problem),
  });
  const moves = createSetMoves(() => mesh.graph.version);

  const push = (): Promise<void> =>
    rounds.run().catch((error: unknown) => onFault(undefined, { name: "a push", error }));

  const debounce = createDebounce({
    quietMs: options.debounceMs,
    maxMs: options.debounceMaxMs,
    run(waitedMs) {
      options.onDebounced?.(waitedMs);
      void push();
    },
  });

  const classes = createProxyClasses({
    ...options,
    onInvalidate(id) {
      dueMembers.add(id);
      debounce.signal();
    },
  });

  const groups = createGroups({
    ...{ rendering, slices: newClasses, onFault },
    onInvalidate(group) {
      dueGroups.add(group);
      debounce.signal();
    },
    onGone(group) {
      dueGroups.delete(group);
      failed.delete(group);
    },
  });

  const failed = createFailedClasses<Group>({
    onRetry(all) {
      for (const group of all) dueGroups.add(group);
      debounce.signal();
    },
    random: Math.random,
  });

  /** A proxy whose class came out different (a label, a service it now belongs to) moves to another renderer. */
  const reclassify = async (id: string): Promise<void> => {
    const group = members.has(id) ? groups.of(classes.get(id)) : undefined;
    try {
      await moveTo(group, id);
    } finally {
      groups.dropIfEmpty(group);
    }
  };

  const moveTo = async (group: Group | undefined, id: string): Promise<void> => {
    // Until the other class is made, the proxy keeps what it has.
    await group?.ready;
    // Another proxy of that class may have come and gone meanwhile, and the class with it.
    if (group && !groups.has(group)) return reclassify(id);
    const member = members.get(id);
    // Its class may have come out different once more meanwhile, and that one may have been there.
    if (group && member && classKey(classes.get(id)) !== group.key) return reclassify(id);
    if (!group || !member || group === member.group) return;
    moves.watch(member.group.renderer)(group.renderer, member, 1);
    groups.leave(member);
    group.members.add(member);
    member.group = group;
    member.changed();
  };

  /** A fault over one proxy must not keep the others from their classes; it stays where it is. */
  const reclassifySafely = async (id: string): Promise<void> => {
    try {
      await reclassify(id);
    } catch (error) {
      onFault(members.get(id)?.group.renderer.proxy, { name: `the class of ${classes.node(id)?.id}`, error });
    }
  };

  /** A fault in one class must not keep the others from their news. */
  const refresh = (group: Group): void => {
    const { renderer, members: concerned } = group;
    try {
      const tellMoves = moves.watch(renderer);
      const news = renderer.refresh();
      // Where it failed before, nobody knows who has heard of what was news then: all look at everything.
      const told = failed.has(group) ? undefined : news;
      if (told?.size !== 0) for (const member of concerned) member.changed(told);
      tellMoves(renderer, group, concerned.size);
      failed.delete(group);
    } catch (error) {
      failed.add(group, rounds.made);
      onFault(renderer.proxy, { name: "a class of proxies", error });
    }
  };

  const bringUpToDate = async (group: Group): Promise<void> => {
    if (!groups.has(group)) return;
    // What many classes share is made again in slices; after that each class takes little.
    if (!group.renderer.isMade()) await pushes.run(groups.steps(group));
    if (groups.has(group)) refresh(group);
  };

  /** What is only told or tidied up must not keep anybody from what is due. */
  const guarded = (name: string, work: () => void): void => {
    try {
      work();
    } catch (error) {
      onFault(undefined, { name, error });
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
      else if (groups.has(group) && group.renderer.isMade()) refresh(group);
      else await bringUpToDate(group);
    }
    guarded("the end of a push", () => options.onMade?.(clock.nowMs() - startedMs));
    guarded("a sweep", () => mesh.graph.sweep());
    failed.tried();
  };
  const isDue = (): boolean => dueMembers.size > 0 || dueGroups.size > 0;
  const rounds = createPushRounds({
    ...{ isDue, round },
    version: () => mesh.graph.version,
  });

  const forget = (id: string): void => {
    members.delete(id);
    classes.delete(id);
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
      ready: group.ready,
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
        groups.leave(member);
        release?.();
      },
    };
  };

  return {
    connect(node, identity, changed): ProxySession {
      const id = `${++connections}`;
      classes.add(id, node, identity);
      let group: Group | undefined;
      try {
        group = groups.of(classes.get(id));
        return enter(id, node, changed, group);
      } catch (error) {
        forget(id);
        groups.dropIfEmpty(group);
        throw error;
      }
    },
    push,
    flush: rounds.settle,
    followMoves: moves.follow,
    isStale: rendering.isStale,
    get made() {
      return rounds.isBusy || isDue() ? rounds.made : mesh.graph.version;
    },
    get failedMoves() {
      return failed.moves;
    },
    *rendered() {
      for (const group of groups.values()) {
        if (group.ready) continue;
        const nodes = new Set(group.members.values().map(({ node }) => node));
        yield { renderer: group.renderer, nodes, ...failed.stuck(group) };
      }
    },
    withhold(node, filters) {
      const member = membersByNode.get(node);
      if (member) classes.withhold(member.id, filters);
    },
    ...createLooks({ graph: mesh.graph, rendering, classOf: options.classOf, clock }),
    rendererOf: (node) => membersByNode.get(node)?.group.renderer,
    get classes() {
      return groups.size;
    },
    proxyClasses: () => groups.values().map(({ renderer }) => renderer.proxy),
    get nodes() {
      return classes.size;
    },
    get withoutService() {
      return groups.values().reduce((sum, { renderer: { proxy }, members: all }) => {
        return sum + (proxy.targets.length === 0 ? all.size : 0);
      }, 0);
    },
    withheldFrom(node) {
      const member = membersByNode.get(node);
      return member && classes.withheldFrom(member.id);
    },
    get facets() {
      return rendering.facets;
    },
    get parts() {
      return rendering.counts;
    },
    close() {
      debounce.stop();
      failed.close();
    },
  };
}

function take<T>(set: Set<T>): readonly T[] {
  const all = [...set];
  set.clear();
  return all;
}
