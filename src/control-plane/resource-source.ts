/**
 * The mesh in; encoded resources per connected proxy out. Proxies of one class share a renderer; a change refreshes only
 * the renderers that read something that changed, after a short quiet time, and tells only their proxies.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Memo, sameData } from "../collections/index.ts";
import { createDebounce, digest } from "../lib/index.ts";
import type { Mesh } from "../mesh/index.ts";
import {
  createResourceSet,
  type Identity,
  type Proxy,
  type ProxyClass,
  type Resource,
  type ResourceSet,
} from "../model/index.ts";
import {
  createRenderer,
  type EnvoyTypes,
  type PatchReport,
  type Renderer,
  type RenderFault,
  type RenderProblem,
} from "../render/index.ts";
import type { News, ProxyNode, ProxySession, ResourceSource } from "../xds/index.ts";

export interface ResourceSourceOptions {
  readonly mesh: Mesh;
  proxyOf(node: ProxyNode, identity: Identity | undefined): Proxy;
  classOf(proxy: Proxy): ProxyClass;
  readonly debounceMs: number;
  readonly debounceMaxMs: number;
  /** A fault of ours: what could not be made again stays as it was. */
  readonly onFault: (proxy: ProxyClass, fault: Pick<RenderFault, "name" | "error">) => void;
  /** What EnvoyFilters may name; loaded before the first proxy connects where there are any. */
  readonly envoyTypes?: EnvoyTypes;
  /** Told for each patch and class once: applied, or why not. */
  readonly onPatch?: (report: PatchReport) => void;
  /** Told of what users wrote and could not be used, by each class that met it. */
  readonly onProblem?: (problem: RenderProblem) => void;
  /** Called with each proxy that connects; what it returns is called when the proxy has gone. */
  readonly admit?: (proxy: ProxyClass) => () => void;
  /** Told when a push round starts, with how many classes it concerns. */
  readonly onPush?: (classes: number) => void;
}

export interface ControlledSource extends ResourceSource {
  /** Refreshes everything that is due at once; for tests and forced pushes. */
  flush(): Promise<void>;
  /** What renders for a connected proxy, by the node it connected with: its resources and their causes. */
  rendererOf(node: ProxyNode): Renderer | undefined;
  readonly classes: number;
  /** Connected proxies. */
  readonly nodes: number;
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
}

export function createResourceSource(options: ResourceSourceOptions): ControlledSource {
  const { mesh } = options;
  const groups = new Map<string, Group>();
  const members = new Map<string, Member>();
  const nodes = new Map<string, Known>();
  const dueGroups = new Set<string>();
  const dueMembers = new Set<string>();
  let connections = 0;
  let pushing: Promise<void> | undefined;

  const debounce = createDebounce({
    quietMs: options.debounceMs,
    maxMs: options.debounceMaxMs,
    run: () => void flush(),
  });
  const classes: Memo<ProxyClass> = mesh.graph.memo(
    "class",
    (id) => {
      const known = nodes.get(id);
      if (!known) throw new Error(`no proxy ${id}`);
      known.last = classify(known);
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
  const classify = ({ node, identity, last }: Known): ProxyClass => {
    try {
      return Object.freeze(options.classOf(options.proxyOf(node, identity)));
    } catch (error) {
      if (!last) throw error;
      options.onFault(last, { name: `the class of ${node.id}`, error });
      return last;
    }
  };

  const groupFor = (proxyClass: ProxyClass): Group => {
    const key = classKey(proxyClass);
    let group = groups.get(key);
    if (!group) {
      const renderer = createRenderer(mesh, proxyClass, {
        onFault: (fault) => options.onFault(proxyClass, fault),
        ...(options.envoyTypes ? { envoyTypes: options.envoyTypes } : {}),
        onPatch: (report) => options.onPatch?.(report),
        onProblem: (problem) => options.onProblem?.(problem),
        onInvalidate() {
          dueGroups.add(key);
          debounce.signal();
        },
      });
      group = { key, renderer, members: new Set() };
      groups.set(key, group);
    }
    return group;
  };

  const leave = (member: Member): void => {
    member.group.members.delete(member);
    if (member.group.members.size > 0) return;
    member.group.renderer.dispose();
    groups.delete(member.group.key);
    dueGroups.delete(member.group.key);
  };

  /** A proxy whose class came out different (a label, a service it now belongs to) moves to another renderer. */
  const reclassify = (id: string): void => {
    const member = members.get(id);
    if (!member) return;
    const group = groupFor(classes.get(id));
    if (group === member.group) return;
    leave(member);
    group.members.add(member);
    member.group = group;
    member.changed();
  };

  /** A fault in one class must not keep the others from their news. */
  const refresh = ({ renderer, members: concerned }: Group): void => {
    try {
      const changed = renderer.refresh();
      if (changed.size > 0) for (const member of concerned) member.changed(changed);
    } catch (error) {
      options.onFault(renderer.proxy, { name: "a class of proxies", error });
    }
  };

  const round = async (): Promise<void> => {
    while (dueMembers.size > 0 || dueGroups.size > 0) {
      for (const id of take(dueMembers)) reclassify(id);
      const due = take(dueGroups);
      options.onPush?.(due.length);
      for (const key of due) {
        const group = groups.get(key);
        if (!group) continue;
        refresh(group);
        // One class at a time, so that streams and probes are served in between.
        await nextTurn();
      }
    }
  };
  const flush = (): Promise<void> => {
    pushing ??= round().finally(() => {
      pushing = undefined;
    });
    return pushing;
  };

  const firstClass = (id: string): ProxyClass => {
    try {
      return classes.get(id);
    } catch (error) {
      nodes.delete(id);
      classes.drop(id);
      throw error;
    }
  };

  return {
    connect(node, identity, changed): ProxySession {
      const id = `${++connections}`;
      nodes.set(id, { node, identity, last: undefined });
      const member: Member = { id, node, changed, group: groupFor(firstClass(id)) };
      const release = options.admit?.(member.group.renderer.proxy);
      members.set(id, member);
      member.group.members.add(member);
      return {
        ready: undefined,
        all: (type) => setOf(member.group.renderer.all(type)),
        get: (type, name): Resource | undefined => member.group.renderer.get(type, name),
        close() {
          members.delete(id);
          nodes.delete(id);
          classes.drop(id);
          dueMembers.delete(id);
          leave(member);
          release?.();
        },
      };
    },
    flush,
    rendererOf: (node) => members.values().find((member) => member.node === node)?.group.renderer,
    get classes() {
      return groups.size;
    },
    get nodes() {
      return nodes.size;
    },
    close: () => debounce.stop(),
  };
}

const sets = new WeakMap<ReadonlyMap<string, Resource>, ResourceSet>();

/** The same set for as long as the renderer gives the same map. */
function setOf(resources: ReadonlyMap<string, Resource>): ResourceSet {
  const set = sets.get(resources) ?? createResourceSet([resources]);
  sets.set(resources, set);
  return set;
}

function take(set: Set<string>): readonly string[] {
  const all = [...set];
  set.clear();
  return all;
}

/** The same class gives the same key whatever the order of its labels. */
function classKey(proxyClass: ProxyClass): string {
  return digest(
    JSON.stringify(proxyClass, (_key, value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
    ),
  );
}
