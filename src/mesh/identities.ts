/** A service and its endpoints in, the SPIFFE ids that may answer for it out. */
import type { Endpoint, Service } from "../model/index.ts";

/** Sorted; each SPIFFE id once more per alias of the trust domain, and names of other kinds as they are. */
export function identitiesOf(
  service: Pick<Service, "serviceAccounts"> | undefined,
  endpoints: readonly Endpoint[],
  aliases: readonly string[],
): readonly string[] {
  const found = new Set<string>(service?.serviceAccounts ?? []);
  for (const endpoint of endpoints) if (endpoint.identity !== "") found.add(endpoint.identity);
  for (const id of [...found]) {
    // A pod that names no account has an id all the same.
    const [, path] = /^spiffe:\/\/[^/]*(\/ns\/[^/]*\/sa\/[^/]*)$/.exec(id) ?? [];
    if (path !== undefined) for (const trustDomain of aliases) found.add(`spiffe://${trustDomain}${path}`);
  }
  return [...found].sort();
}
