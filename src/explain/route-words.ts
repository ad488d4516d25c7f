/** A route configuration and a virtual host of it in; which requests go where, in words, out. */
import type { Resource } from "../model/index.ts";
import { hostsOf, requestsWord, targetWord } from "./change/route.ts";
import { sharesOf } from "./change/shares.ts";
import { percent } from "./trace.ts";

export interface RouteWords {
  /** Of the virtual host. */
  readonly host: string;
  /** That it answers to, without ports. */
  readonly domains: readonly string[];
  readonly requests: string;
  /** `v1 90 %, v2 10 %`. */
  readonly to: string;
  /** Clusters that it names. */
  readonly clusters: readonly string[];
}

/** Of all virtual hosts, or of those that are wanted; names are seen from `service`. */
export function routeWords(
  resource: Resource,
  service: string,
  wanted: (host: string) => boolean = () => true,
): readonly RouteWords[] {
  return hostsOf(resource)
    .filter(({ name }) => wanted(name))
    .flatMap(({ name, host: virtualHost }) =>
      (virtualHost()?.routes ?? []).map((route) => {
        const shares = [...sharesOf(route)];
        return {
          host: name,
          domains: [...new Set((virtualHost()?.domains ?? []).map((domain) => domain.replace(/:(\d+|\*)$/, "")))],
          requests: requestsWord(route.match) || "all requests",
          to: shares
            .map(([target, share]) => `${targetWord(target, service)}${shares.length > 1 ? ` ${percent(share)}` : ""}`)
            .join(", "),
          clusters: shares.map(([target]) => target).filter((target) => !target.startsWith("=")),
        };
      }),
    );
}
