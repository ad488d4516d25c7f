/**
 * Classes of proxies in; a renderer for each out, with the connected proxies that are of it. It begins to be made when the
 * first of them comes, in slices, and goes with the last.
 */
import type { ProxyClass } from "../../model/index.ts";
import type { Renderer, Rendering, Steps } from "../../render/index.ts";
import type { News, ProxyNode } from "../../xds/index.ts";
import type { Slices } from "../slices.ts";
import { classKey } from "./class-key.ts";
import type { OnFault } from "./proxy-classes.ts";

export interface Member {
  readonly id: string;
  readonly node: ProxyNode;
  group: Group;
  readonly changed: (news?: News) => void;
}

export interface Group {
  readonly key: string;
  readonly renderer: Renderer;
  readonly members: Set<Member>;
  /** Pending while what the class has is made for the first time. */
  ready: Promise<void> | undefined;
}

export interface Groups {
  /** Of this class; made where there is none. */
  of(proxyClass: ProxyClass): Group;
  /** Whether it has not gone. */
  has(group: Group): boolean;
  values(): IteratorObject<Group>;
  readonly size: number;
  leave(member: Member): void;
  /** Where nobody is of it: it was made for a proxy that has gone meanwhile. */
  dropIfEmpty(group: Group | undefined): void;
  /** The work of bringing what it has up to date, in small pieces. A fault is told, and met again when it is asked for. */
  steps(group: Group): Steps;
}

export interface GroupsOptions {
  readonly rendering: Rendering;
  readonly slices: Slices;
  /** Something that it has may have changed. */
  onInvalidate(group: Group): void;
  onGone(group: Group): void;
  readonly onFault: OnFault;
}

export function createGroups({ rendering, slices, onInvalidate, onGone, onFault }: GroupsOptions): Groups {
  const groups = new Map<string, Group>();

  function make(proxyClass: ProxyClass, key: string): Group {
    const renderer = rendering.renderer(proxyClass, () => onInvalidate(group));
    const group: Group = { key, renderer, members: new Set(), ready: undefined };
    groups.set(key, group);
    // Most of what a class has was made for others before: then there is nothing to wait for.
    group.ready = slices.run(steps(group))?.then(() => {
      group.ready = undefined;
    });
    return group;
  }

  function* steps({ renderer }: Group): Steps {
    try {
      yield* renderer.steps();
    } catch (error) {
      onFault(renderer.proxy, { name: "a class of proxies", error });
    }
  }

  const has = (group: Group): boolean => groups.get(group.key) === group;

  function dropIfEmpty(group: Group | undefined): void {
    if (!group || group.members.size > 0 || !has(group)) return;
    group.renderer.dispose();
    groups.delete(group.key);
    onGone(group);
  }

  return {
    of(proxyClass) {
      const key = classKey(proxyClass);
      return groups.get(key) ?? make(proxyClass, key);
    },
    has,
    values: () => groups.values(),
    get size() {
      return groups.size;
    },
    leave(member) {
      member.group.members.delete(member);
      dropIfEmpty(member.group);
    },
    dropIfEmpty,
    steps,
  };
}
