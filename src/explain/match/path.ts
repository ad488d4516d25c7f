/** Ways to match a path: text, or a template of segments. */
import type { TypedExtensionConfig } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { UriTemplateMatchConfigSchema } from "../../gen/envoy/extensions/path/match/uri_template/v3/uri_template_match_pb.js";
import { quotePattern } from "../../lib/index.ts";
import { unpack } from "../unpack.ts";
import { patternOf } from "./text.ts";

/** Without query and fragment. */
export const plainPath = (path: string): string => path.replace(/[?#].*$/s, "");

export function templateOf(config: TypedExtensionConfig): string | undefined {
  return unpack(UriTemplateMatchConfigSchema, config.typedConfig)?.pathTemplate;
}

/** `*` is one segment, `**` any number of them, `{name}` and `{name=*}` likewise. */
export function matchesTemplate(template: string, path: string): boolean {
  const source = template
    .split(/(\{[^}]*\}|\*\*|\*)/)
    .map((part) => {
      if (part === "**") return ".*";
      if (part === "*") return "[^/]+";
      if (!part.startsWith("{")) return quotePattern(part);
      const inner = part.slice(1, -1).split("=")[1];
      return inner === undefined
        ? "[^/]+"
        : inner
            .split(/(\*\*|\*)/)
            .map((p) => (p === "**" ? ".*" : p === "*" ? "[^/]+" : quotePattern(p)))
            .join("");
    })
    .join("");
  return patternOf(source).matches(path);
}
