/** What the parts of the control plane write to the log as: names in; what each is about out. */
import type { LogScopes } from "../lib/index.ts";

/** Names are istiod's where it has the same. */
const descriptions: ReadonlyMap<string, string> = new Map([
  ["default", "Everything that has no scope of its own"],
  ["ads", "Connections of proxies, what they are sent and what they say to it"],
  ["analysis", "Mistakes found in users' objects"],
  ["ca", "Certificates that workloads ask for"],
  ["envoyfilter", "Patches of EnvoyFilters that change nothing, or cannot be applied"],
  ["events", "Events that could not be written"],
  ["gateway", "What runs for Gateways of the Gateway API"],
  ["grpc", "Connections at the gRPC ports"],
  ["incremental", "Differences between what proxies have and what a fresh start would give"],
  ["injector", "Sidecars added to Pods"],
  ["ip-autoallocate", "Addresses given to ServiceEntries"],
  ["jwks", "Keys that tokens of requests are checked with"],
  ["kube", "Objects followed at the Kubernetes API"],
  ["leader", "Which control plane does what only one may do"],
  ["oidc", "Issuers of tokens that the operator named"],
  ["page", "The page that shows the mesh, and what it keeps of changes"],
  ["render", "Objects that are left out of what proxies are sent"],
  ["secrets", "Certificates that gateways are to use"],
  ["status", "Statuses written to users' objects"],
  ["traffic", "What agents report of requests"],
  ["trust", "The mesh's own certificate authority"],
  ["webhooks", "Configurations of the webhooks"],
  ["wle", "Workloads outside Kubernetes that register themselves"],
]);

export const describeScope = (name: string): string => descriptions.get(name) ?? "";

/** All of them, also those of which nothing has been heard yet, can be set from the start. */
export function declareScopes(scopes: LogScopes): LogScopes {
  for (const name of descriptions.keys()) scopes.scope(name);
  return scopes;
}
