/** Settings in; what is fetched from the network out: HTTP clients that may not reach everything, and keys that verify tokens. */
import { createHttpClient, createJwksResolver, type HttpClient, type JwksResolverOptions } from "../../fetch/index.ts";
import { createAddressGuard } from "../../lib/index.ts";
import type { StagesOptions } from "../stages.ts";
import type { Plane } from "./plane.ts";

type FetchKeySets = NonNullable<StagesOptions["fetchKeySets"]>;

export interface Outside {
  /** Each has room of its own: what is slow to answer one keeps nobody else. */
  httpClient(): HttpClient;
  readonly keySets: {
    /** Begins to fetch what RequestAuthentications refer to. */
    readonly fetch: FetchKeySets;
    /** What was fetched so far, for whoever compares. */
    readonly fetched: FetchKeySets;
    /** Resolves when what was referred to at first has been tried. */
    settled(): Promise<void>;
  };
}

export function reachOutside({ options, graph, metrics, signal }: Plane): Outside {
  const guard = createAddressGuard(options.keySets?.blockedRanges);
  const httpClient = (): HttpClient => createHttpClient({ guard, ...options.keySets });
  const resolverOf = (requestAuthentications: JwksResolverOptions["requestAuthentications"]) =>
    createJwksResolver({
      ...{ graph, client: httpClient(), requestAuthentications, signal },
      log: options.log.scope("jwks"),
      monotonicMs: options.monotonicMs,
      random: options.random,
      onFetch: (good) => metrics.count(`pilot_jwks_resolver_network_fetch_${good ? "success" : "fail"}_total`),
      ...options.keySets,
    });
  let resolver: ReturnType<typeof resolverOf> | undefined;
  return {
    httpClient,
    keySets: {
      fetch(requests) {
        resolver = resolverOf(requests);
        return resolver.keySets;
      },
      fetched: () => ({ get: (key) => resolver?.keySets.get(key) }),
      settled: async () => await resolver?.settled(),
    },
  };
}
