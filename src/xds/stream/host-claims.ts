/**
 * What a client that comes back says to hold in: its routes on its first request for them, its hosts on a request of its own.
 * Once both are there, the claimed hosts out, by route. It says either once: who says it again must not fill the memory.
 */
import { type Claimed, readClaims, routeOf } from "./route-parts.ts";

export interface HostClaims {
  /** Of a request on routes, which of the versions in it are to be believed: those of the first. */
  firstVersions(initial: ReadonlyMap<string, string>): ReadonlyMap<string, string>;
  /** A route was claimed that is held apart from its hosts: they are to be claimed too. */
  expect(): void;
  /** Hosts with their versions. The map is given away. */
  note(all: ReadonlyMap<string, string>): void;
  /** All names that were claimed, once, as soon as it is known which routes are asked for; hosts of others are not kept by route. */
  match(isAsked: (route: string) => boolean): ReadonlyMap<string, string> | undefined;
  /** Whether hosts are expected that were not claimed yet. */
  areAwaited(): boolean;
  /** They were waited for long enough. */
  giveUpWaiting(): void;
  has(route: string): boolean;
  /** What is claimed of the route, once. */
  take(route: string): Claimed | undefined;
  routes(): Iterable<string>;
}

const none: ReadonlyMap<string, string> = new Map();
/** Of all who have claimed nothing; nothing is put into it. */
const noRoutes: Map<string, Claimed> = new Map();

export function createHostClaims(): HostClaims {
  let isFirst = true;
  let areAwaited = false;
  let hasClaimed = false;
  /** Until it is known which routes the client asks for. */
  let unmatched: ReadonlyMap<string, string> | undefined;
  let byRoute = noRoutes;

  return {
    firstVersions(initial) {
      const believed = isFirst ? initial : none;
      isFirst = false;
      return believed;
    },
    expect() {
      if (!hasClaimed) areAwaited = true;
    },
    note(all) {
      areAwaited = false;
      if (!hasClaimed) unmatched = all;
      hasClaimed = true;
    },
    match(isAsked) {
      // The first request on routes has all that the client asks for; hosts of others, which it may claim, it has dropped.
      if (isFirst || !unmatched) return undefined;
      const all = unmatched;
      unmatched = undefined;
      byRoute = readClaims(all.entries().filter(([name]) => isAsked(routeOf(name))));
      return all;
    },
    areAwaited: () => areAwaited,
    giveUpWaiting() {
      areAwaited = false;
    },
    has: (route) => byRoute.has(route),
    take(route) {
      const claimed = byRoute.get(route);
      byRoute.delete(route);
      return claimed;
    },
    routes: () => byRoute.keys(),
  };
}
