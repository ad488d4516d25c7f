/** A JWT rule in; the keys that verify its tokens, as Envoy is given them, out. */
import { type InboundFacet, type JWTRule, jwksSource, publicJwks } from "../../model/index.ts";
import type { View } from "../view.ts";

/**
 * R37: without keys every token is refused; a stand-in key would be somebody's. Envoy takes this for "none", while it
 * refuses the whole listener for a set that is empty or cannot be read.
 */
const noKeys = "";

/** A rule with the object and field that it comes from. */
export type SourcedRule = JWTRule & { readonly from: { readonly object: string; readonly field: string } };

/** Fetches that fail are told by who fetches. */
export function jwksOf(view: View<InboundFacet>, rule: SourcedRule): string {
  const source = jwksSource(rule);
  if (source) return view.mesh.keySet(source) ?? noKeys;
  const keys = publicJwks(rule.jwks ?? "");
  if (keys === undefined) view.tell({ ...rule.from, problem: "jwks has no usable key; its tokens are refused" });
  return keys ?? noKeys;
}
