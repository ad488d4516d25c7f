/** Lists that are read page by page stay as they were when the first page was read, for a while, for who began them. */
import type { KubeObject } from "../model/index.ts";
import { createContinueTokens, expiredToken } from "./continue-token.ts";

export interface Page {
  readonly items: readonly KubeObject[];
  readonly version: number;
  readonly next: string | undefined;
  readonly remaining: number;
}

/** What a list is of, and who reads it. */
export interface ListScope {
  /** `group/version/plural`. */
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly user: string;
}

export interface Snapshots {
  first(scope: ListScope, items: readonly KubeObject[], version: number, limit: number): Page;
  /** The scope is that of the request at hand: the token has to be of the same. */
  following(scope: ListScope, token: string, limit: number): Page;
  /** Whoever reads one has to begin anew. */
  forget(): void;
}

interface Snapshot {
  readonly user: string;
  readonly items: readonly KubeObject[];
  readonly version: number;
  readonly begun: number;
}

/** As long as Kubernetes' store keeps old versions. */
const keepMs = 5 * 60_000;

export function createSnapshots(now: () => Date, keep = 64): Snapshots {
  const tokens = createContinueTokens();
  const lists = new Map<number, Snapshot>();
  let counter = 0;

  const page = (scope: ListScope, id: number, from: number, limit: number): Page => {
    const list = lists.get(id);
    if (!list) throw expiredToken();
    const items = list.items.slice(from, from + limit);
    const remaining = Math.max(0, list.items.length - from - items.length);
    const next = remaining === 0 ? undefined : tokens.format({ list: id, from: from + limit }, scopeText(scope));
    return { items, version: list.version, next, remaining };
  };
  const forgetOld = (): void => {
    const oldest = now().getTime() - keepMs;
    for (const [id, { begun }] of lists) if (begun < oldest) lists.delete(id);
  };
  return {
    first(scope, items, version, limit) {
      forgetOld();
      if (limit <= 0 || items.length <= limit) return { items, version, next: undefined, remaining: 0 };
      counter++;
      lists.set(counter, { user: scope.user, items, version, begun: now().getTime() });
      if (lists.size > keep) lists.delete(oldestOfGreediest(lists));
      return page(scope, counter, 0, limit);
    },
    following(scope, token, limit) {
      const { list, from } = tokens.parse(token, scopeText(scope));
      forgetOld();
      return page(scope, list, from, limit <= 0 ? Number.MAX_SAFE_INTEGER : limit);
    },
    forget: () => lists.clear(),
  };
}

function scopeText({ resource, namespace, labelSelector, fieldSelector, user }: ListScope): string {
  return JSON.stringify([resource, namespace ?? null, labelSelector, fieldSelector, user]);
}

/** Whoever begins many lists loses their own, not those of others. */
function oldestOfGreediest(lists: ReadonlyMap<number, Snapshot>): number {
  const held = new Map<string, number[]>();
  for (const [id, { user }] of lists) held.set(user, [...(held.get(user) ?? []), id]);
  const [greediest = []] = [...held.values()].sort((a, b) => b.length - a.length);
  return greediest[0] ?? 0;
}
