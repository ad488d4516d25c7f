/** Objects, and what decided the requests of tests, in; routes, rules and policies that no test touched out. */

import { isRecord } from "../../lib/index.ts";
import { type KubeObject, objectName } from "../../model/index.ts";
import type { Decider } from "../../read-api/index.ts";

export interface Coverable {
  /** `VirtualService/shop/web`. */
  readonly object: string;
  /** `spec.http[0]`; none for the object as a whole. */
  readonly field?: string;
}

export interface Coverage {
  touch(deciders: readonly Decider[]): void;
  report(): { readonly all: number; readonly untouched: readonly Coverable[] };
}

/** Lists whose entries count one by one. */
const lists: ReadonlyMap<string, readonly string[]> = new Map([
  ["VirtualService", ["http", "tcp", "tls"]],
  ["AuthorizationPolicy", ["rules"]],
]);
const wholes: ReadonlySet<string> = new Set([
  "RequestAuthentication",
  "PeerAuthentication",
  "HTTPRoute",
  "GRPCRoute",
  "TCPRoute",
  "TLSRoute",
]);

export function createCoverage(objects: readonly KubeObject[]): Coverage {
  const all = objects.flatMap(coverables);
  const touched = new Set<Coverable>();
  return {
    touch(deciders) {
      for (const { object, field } of deciders)
        for (const one of all)
          if (one.object === object && (one.field === undefined || isWithin(field, one.field))) touched.add(one);
    },
    report: () => ({ all: all.length, untouched: all.filter((one) => !touched.has(one)) }),
  };
}

function coverables(object: KubeObject): readonly Coverable[] {
  const name = objectName(object.kind, object.metadata);
  if (wholes.has(object.kind)) return [{ object: name }];
  const fields = lists.get(object.kind);
  if (!fields) return [];
  const spec = isRecord(object.spec) ? object.spec : {};
  const parts = fields.flatMap((field) => {
    const entries = spec[field];
    return (Array.isArray(entries) ? entries : []).map((_, i) => ({ object: name, field: `spec.${field}[${i}]` }));
  });
  return parts.length > 0 ? parts : [{ object: name }];
}

const isWithin = (field: string | undefined, part: string): boolean =>
  field === part || field?.startsWith(`${part}.`) === true || field?.startsWith(`${part}[`) === true;
