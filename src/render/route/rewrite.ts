/** A rewrite of path or authority in, the fields of Envoy's route action out. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RouteActionSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { HTTPRewrite } from "../../model/index.ts";
import { isUsablePattern } from "./pattern.ts";
import type { RouteSemantics } from "./semantics.ts";

type PathRewrite = Pick<MessageInitShape<typeof RouteActionSchema>, "prefixRewrite" | "regexRewrite">;

/** `prefix` is what the route matched, where it matched a whole-segment prefix. */
export function pathRewrite(rewrite: HTTPRewrite, semantics: RouteSemantics, prefix: string): PathRewrite {
  const { uri, uriRegexRewrite } = rewrite;
  if (uriRegexRewrite) return regexRewrite(uriRegexRewrite.match ?? "", uriRegexRewrite.rewrite ?? "");
  if (!uri) return {};
  // A prefix replaced by "/" must not leave "//rest" behind, which Envoy's prefix rewrite would.
  if (semantics === "gateway-api" && uri === "/") return regexRewrite(`^${quote(prefix)}(/?)(.*)`, "/\\2");
  return { prefixRewrite: uri };
}

export function isUsableRewrite(rewrite: HTTPRewrite | undefined): boolean {
  return rewrite?.uriRegexRewrite === undefined || isUsablePattern(rewrite.uriRegexRewrite.match ?? "");
}

function regexRewrite(regex: string, substitution: string): PathRewrite {
  return { regexRewrite: { pattern: { regex }, substitution } };
}

/** The characters that RE2 gives a meaning. */
function quote(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}
