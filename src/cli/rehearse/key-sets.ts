/**
 * A listener of ours and istiod's, as JSON, in; istiod's with the keys that ours has, where istiod fetched them from an
 * issuer, out. Nothing is fetched here: of such keys it is known where they come from, and not which they are.
 */
import { unfetchedKeySet } from "../../fetch/index.ts";
import { isRecord } from "../../lib/index.ts";

/** Undefined where all keys of ours stand in objects. */
export function withOurKeys(theirs: unknown, ours: unknown): unknown {
  const published = new Set(issuersWithout(ours));
  return published.size === 0 ? undefined : withKeys(theirs, published);
}

/** Issuers whose keys were not fetched. */
function issuersWithout(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(issuersWithout);
  if (!isRecord(value)) return [];
  const { localJwks, issuer } = value;
  const own = isRecord(localJwks) && localJwks.inlineString === unfetchedKeySet ? [String(issuer)] : [];
  return [...own, ...Object.values(value).flatMap(issuersWithout)];
}

function withKeys(value: unknown, issuers: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((member: unknown) => withKeys(member, issuers));
  if (!isRecord(value)) return value;
  const isMeant = issuers.has(String(value.issuer));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      isMeant && key === "localJwks" ? { inlineString: unfetchedKeySet } : withKeys(inner, issuers),
    ]),
  );
}
