/** Lists that are read page by page stay as they were when the first page was read, for a while. */
import { isRecord, parseJson } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { failure } from "./failure.ts";

export interface Page {
  readonly items: readonly KubeObject[];
  readonly version: number;
  readonly next: string | undefined;
  readonly remaining: number;
}

export interface Snapshots {
  first(items: readonly KubeObject[], version: number, limit: number): Page;
  following(token: string, limit: number): Page;
}

export function createSnapshots(keep = 64): Snapshots {
  const lists = new Map<string, { readonly items: readonly KubeObject[]; readonly version: number }>();
  let counter = 0;

  const page = (id: string, from: number, limit: number): Page => {
    const list = lists.get(id);
    if (!list)
      throw failure(
        "Expired",
        "The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.",
      );
    const items = list.items.slice(from, from + limit);
    const remaining = Math.max(0, list.items.length - from - items.length);
    const next =
      remaining === 0 ? undefined : Buffer.from(JSON.stringify({ id, from: from + limit })).toString("base64url");
    return { items, version: list.version, next, remaining };
  };
  return {
    first(items, version, limit) {
      if (limit <= 0 || items.length <= limit) return { items, version, next: undefined, remaining: 0 };
      counter++;
      const id = `${version}-${counter}`;
      lists.set(id, { items, version });
      const [oldest] = lists.keys();
      if (lists.size > keep && oldest !== undefined) lists.delete(oldest);
      return page(id, 0, limit);
    },
    following(token, limit) {
      const { id, from } = readToken(token);
      return page(id, from, limit <= 0 ? Number.MAX_SAFE_INTEGER : limit);
    },
  };
}

function readToken(token: string): { readonly id: string; readonly from: number } {
  try {
    const value = parseJson(Buffer.from(token, "base64url").toString());
    if (isRecord(value) && typeof value.id === "string" && typeof value.from === "number")
      return { id: value.id, from: value.from };
  } catch {
    // Told below, like every other token that is not ours.
  }
  throw failure("BadRequest", "continue key is not valid");
}
