/** A Service in, an address behind it out: without kube-proxy a webhook's Service is reached at one of its ready endpoints. */
import { at, listAt, numberAt, textAt, textsAt } from "./access.ts";
import type { Store } from "./store.ts";
import type { ServiceResolver } from "./webhook-call.ts";

export function serviceEndpoints(store: Store): ServiceResolver {
  return ({ namespace, name, port }) => {
    const service = store.get("/services", `${namespace}/${name}`);
    const entry = listAt(service, "spec", "ports").find((p) => numberAt(p, "port") === port);
    if (entry === undefined) return undefined;
    for (const slice of store.list("discovery.k8s.io/endpointslices")) {
      if (slice.metadata.namespace !== namespace || slice.metadata.labels?.["kubernetes.io/service-name"] !== name)
        continue;
      const target = listAt(slice, "ports").find((p) => textAt(p, "name") === textAt(entry, "name"));
      const ready = listAt(slice, "endpoints").find((e) => at(e, "conditions", "ready") !== false);
      const [host] = textsAt(ready, "addresses");
      const number = numberAt(target, "port");
      if (host !== undefined && number !== undefined) return { host, port: number };
    }
    return undefined;
  };
}
