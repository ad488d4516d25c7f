/**
 * What proxies refuse of what they were sent in; the objects of users that made it, with the proxy and its words, out.
 * Nothing is remembered: who asks learns what is refused at that moment.
 */
import type { Cause } from "../collections/index.ts";
import { printable } from "../lib/index.ts";
import { istioKinds, type ResourceType } from "../model/index.ts";
import { type ProxyNode, type ProxyStatus, proxyName, shortName } from "../xds/index.ts";

/** One resource that one proxy refused. */
export interface Refusal {
  /** `pod.namespace`. */
  readonly proxy: string;
  readonly type: ResourceType;
  readonly resource: string;
  /** What the proxy said, fit for a line. */
  readonly words: string;
  /** Where an object is withheld for it: what is there instead. */
  readonly instead?: string;
  /** Those that may be meant; one where it can be told. */
  readonly blamed: readonly Cause[];
}

/** Which objects and fields made a resource of a proxy. */
export type CausesOf = (proxy: ProxyStatus, type: ResourceType, name: string) => readonly Cause[];

/** Proxies of one class mostly refuse the same: what made it is looked up once for all of them. */
export function sharedCauses<Maker extends { causes(type: ResourceType, name: string): readonly Cause[] }>(
  makerOf: (node: ProxyNode) => Maker | undefined,
): CausesOf {
  const known = new Map<Maker, Map<string, readonly Cause[]>>();
  return ({ node }, type, name) => {
    const maker = makerOf(node);
    if (!maker) return [];
    const own = known.get(maker) ?? new Map<string, readonly Cause[]>();
    known.set(maker, own);
    const key = `${type} ${name}`;
    const causes = own.get(key) ?? maker.causes(type, name);
    own.set(key, causes);
    return causes;
  };
}

const maxWords = 400;
/** A proxy that names nothing of what it refuses has doubts about all of it: more is not looked at. */
const maxDoubted = 100;
/** Where it refuses whole sets without a name, all that is in them counts as refused until it is found what is meant. */
const maxRefused = 500;

export function findRefusals(proxies: readonly ProxyStatus[], causesOf: CausesOf): readonly Refusal[] {
  return proxies.flatMap((proxy) =>
    proxy.types.flatMap(({ type, lastError, refused, doubted }) => {
      const isNamed = refused.size > 0 || lastError === "";
      const found = isNamed
        ? refused.entries().take(maxRefused).toArray()
        : doubted.slice(0, maxDoubted).map((name) => [name, lastError] as const);
      return found.map(([resource, words]) => ({
        ...{ proxy: proxyName(proxy.node), type, resource, words: printable(words.slice(0, maxWords)) },
        blamed: blame(causesOf(proxy, type, resource)),
      }));
    }),
  );
}

const kindOf = ({ object }: Cause): string => object.slice(0, object.indexOf("/"));
const userKinds: ReadonlySet<string> = new Set(istioKinds.map(({ kind }) => kind));

/** A patch is checked by nobody before Envoy sees it, so it is to blame where there is one; else whatever users wrote. */
function blame(causes: readonly Cause[]): readonly Cause[] {
  const patches = causes.filter((cause) => kindOf(cause) === "EnvoyFilter" && cause.field !== undefined);
  return patches.length > 0 ? patches : causes.filter((cause) => userKinds.has(kindOf(cause)));
}

export interface ObjectRefusal {
  readonly path: string;
  readonly message: string;
  /** Whether no other object can be meant. */
  readonly isSure: boolean;
}

/** By `Kind/namespace/name`. What many proxies say is said once, with one of them named. */
export function refusalsByObject(refusals: readonly Refusal[]): ReadonlyMap<string, readonly ObjectRefusal[]> {
  const found = new Map<string, Map<string, { readonly first: Refusal; readonly proxies: Set<string> }>>();
  for (const refusal of refusals)
    for (const { object, field = "" } of refusal.blamed) {
      const own = found.get(object) ?? new Map<string, { first: Refusal; proxies: Set<string> }>();
      found.set(object, own);
      const known = own.get(field) ?? { first: refusal, proxies: new Set<string>() };
      own.set(field, known);
      known.proxies.add(refusal.proxy);
    }
  return new Map(
    [...found].map(([object, own]) => [
      object,
      [...own].map(([path, { first, proxies }]) => ({
        path,
        message: sentence(first, [...proxies].sort()),
        isSure: new Set(first.blamed.map((cause) => cause.object)).size === 1,
      })),
    ]),
  );
}

function sentence({ type, resource, words, instead }: Refusal, [first = "", ...others]: readonly string[]): string {
  const who = others.length === 0 ? first : `${first} and ${others.length} more`;
  return `The Envoy of ${who} refused ${shortName(type)} ${printable(resource)}, which this made: ${words}${instead === undefined ? "" : `; ${instead}`}`;
}
