/** Proxies of a class, and what the class has, in; crowds of those that are equally far with all of it out. */
import { envoyTypes, type ResourceSet } from "../../model/index.ts";
import type { ProxyProgress } from "../../xds/index.ts";

export type Follows = NonNullable<ReturnType<ProxyProgress["follows"]>>;

/** One of them answers for all. */
export interface Crowd {
  readonly proxies: readonly [ProxyProgress, ...ProxyProgress[]];
  /** In the order of `envoyTypes`; undefined for a proxy by itself, that something is awaited of. */
  readonly follows: readonly Follows[] | undefined;
}

/** Proxies of a class do the same; where they do not, it is not searched for long. */
const maxCrowds = 16;

export function crowdsOf(proxies: Iterable<ProxyProgress>, sets: readonly ResourceSet[]): readonly Crowd[] {
  const crowds: { readonly follows: readonly Follows[]; readonly proxies: [ProxyProgress, ...ProxyProgress[]] }[] = [];
  const others: Crowd[] = [];
  for (const proxy of proxies) {
    const follows = followsOf(proxy, sets);
    const found = follows && crowds.find((crowd) => crowd.follows.every((own, at) => own === follows[at]));
    if (found) found.proxies.push(proxy);
    else if (follows && crowds.length < maxCrowds) crowds.push({ follows, proxies: [proxy] });
    else others.push({ follows, proxies: [proxy] });
  }
  return [...crowds, ...others];
}

/** Undefined where something is awaited of it. */
function followsOf(proxy: ProxyProgress, sets: readonly ResourceSet[]): readonly Follows[] | undefined {
  const all: Follows[] = [];
  for (const [at, type] of envoyTypes.entries()) {
    const set = sets[at];
    const follows = set && proxy.follows(type, set);
    if (!follows) return undefined;
    all.push(follows);
  }
  return all;
}
