/** A service and its endpoints in, the SPIFFE ids that may answer for it out. */
import { type Endpoint, formatIdentity, parseIdentity, type Service } from "../model/index.ts";

/** Sorted; each SPIFFE id once more per alias of the trust domain, and names of other kinds as they are. */
export function identitiesOf(
  service: Service | undefined,
  endpoints: readonly Endpoint[],
  aliases: readonly string[],
): readonly string[] {
  const found = new Set<string>(service?.serviceAccounts ?? []);
  for (const endpoint of endpoints) if (endpoint.identity !== "") found.add(endpoint.identity);
  for (const id of [...found]) {
    const identity = parseIdentity(id);
    if (identity) for (const trustDomain of aliases) found.add(formatIdentity({ ...identity, trustDomain }));
  }
  return [...found].sort();
}
