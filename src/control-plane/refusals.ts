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

/** Who makes what proxies of a class are sent. */
export interface Maker {
  /** What it adds to the causes of resources that other classes may have too. */
  readonly proxy: { readonly sidecar: string };
  /** One object for all classes that have the same. */
  get(type: ResourceType, name: string): object | undefined;
  causes(type: ResourceType, name: string): readonly Cause[];
}

/** Proxies mostly refuse the same: what made a resource is looked up once for all classes that have it. */
export function sharedCauses(makerOf: (node: ProxyNode) => Maker | undefined): CausesOf {
  const known = new Map<object, Map<string, readonly Cause[]>>();
  return ({ node }, type, name) => {
    const maker = makerOf(node);
    if (!maker) return [];
    const resource = maker.get(type, name);
    // What is no longer there nobody else has either.
    const [of, key] = resource ? [resource, maker.proxy.sidecar] : [maker, `${type} ${name}`];
    const own = known.get(of) ?? new Map<string, readonly Cause[]>();
    known.set(of, own);
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

/** In small pieces: hundreds of classes may each refuse a thousand resources. */
export function* findRefusals(
  proxies: readonly ProxyStatus[],
  causesOf: CausesOf,
): Generator<undefined, readonly Refusal[]> {
  const found: Refusal[] = [];
  for (const proxy of proxies)
    for (const { type, lastError, refused, doubted } of proxy.types) {
      const isNamed = refused.size > 0 || lastError === "";
      const names = isNamed
        ? refused.entries().take(maxRefused)
        : doubted.slice(0, maxDoubted).map((name) => [name, lastError] as const);
      for (const [resource, words] of names) {
        found.push({
          ...{ proxy: proxyName(proxy.node), type, resource, words: printable(words.slice(0, maxWords)) },
          blamed: blame(causesOf(proxy, type, resource)),
        });
        yield;
      }
    }
  return found;
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

/** By `Kind/namespace/name`. */
export type RefusalsByObject = ReadonlyMap<string, readonly ObjectRefusal[]>;

/** What many proxies say is said once, with one of them named. In small pieces, too. */
export function* refusalsByObject(refusals: readonly Refusal[]): Generator<undefined, RefusalsByObject> {
  const found = new Map<string, Map<string, { readonly first: Refusal; readonly proxies: Set<string> }>>();
  for (const refusal of refusals) {
    yield;
    for (const { object, field = "" } of refusal.blamed) {
      const own = found.get(object) ?? new Map<string, { first: Refusal; proxies: Set<string> }>();
      found.set(object, own);
      const known = own.get(field) ?? { first: refusal, proxies: new Set<string>() };
      own.set(field, known);
      known.proxies.add(refusal.proxy);
    }
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
