/** A JWT rule in; the keys that verify its tokens, as Envoy is given them, out. */
import { type JWTRule, jwksSource, publicJwks } from "../../model/index.ts";
import type { View } from "../view.ts";

/**
 * R37: without keys every token is refused; a stand-in key would be somebody's. Envoy takes this for "none", while it
 * refuses the whole listener for a set that is empty or cannot be read.
 */
const noKeys = "";

export function jwksOf(view: View, rule: JWTRule): string {
  const source = jwksSource(rule);
  if (source) return view.mesh.keySet(source) ?? noKeys;
  return publicJwks(rule.jwks ?? "") ?? noKeys;
}
