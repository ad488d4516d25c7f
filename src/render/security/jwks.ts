/** A JWT rule in; the keys that verify its tokens, as Envoy is given them, out. */
import type { JWTRule } from "../../model/index.ts";
import type { View } from "../view.ts";

/** R37: while keys are not known, there are none, so every token is refused; a stand-in key would be somebody's. */
const noKeys = "";

export function jwksOf(_view: View, rule: JWTRule): string {
  return rule.jwks || noKeys;
}
