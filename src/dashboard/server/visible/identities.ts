/** Certificates: who signs is told to all; who holds which, of Pods that are seen. */
import type { IdentityReads } from "../../../read-api/index.ts";
import { ofProxy, podsIn } from "./kind-in-namespace.ts";
import { notShown, type Sight } from "./sight.ts";

export function visibleIdentities(reads: IdentityReads, sight: Sight): IdentityReads {
  return {
    async identities() {
      const { refused, rotation, ...rest } = await reads.identities();
      const names = await sight.hiddenNames();
      return {
        ...rest,
        ...(refused === undefined ? {} : { refused: names(refused) ? notShown : refused }),
        ...(rotation ? { rotation: { ...rotation, ignored: rotation.ignored.filter((proxy) => !names(proxy)) } } : {}),
        proxies: await sight.seen(rest.proxies, ({ proxy }) => [ofProxy(proxy)]),
        issued: await sight.seen(rest.issued, ({ namespace }) => [podsIn(namespace)]),
      };
    },
  };
}
