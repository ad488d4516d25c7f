/** A header name such as `@request.auth.claims.group` and its match in, a matcher on the verified token's claims out. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type MetadataMatcher, MetadataMatcherSchema } from "../../gen/envoy/type/matcher/v3/metadata_pb.js";
import type { ValueMatcherSchema } from "../../gen/envoy/type/matcher/v3/value_pb.js";
import type { StringMatch } from "../../model/index.ts";
import { asksPresenceOnly, stringMatcher } from "./string-match.ts";

const claimHeader = "@request.auth.claims";
const jwtFilter = "envoy.filters.http.jwt_authn";

/** The claim's path, nested claims by dots or by brackets; undefined for ordinary headers. */
export function claimPath(header: string): readonly string[] | undefined {
  if (!header.toLowerCase().startsWith(claimHeader)) return undefined;
  const rest = header.slice(claimHeader.length);
  if (rest.startsWith(".") && rest.length > 1) return rest.slice(1).split(".");
  if (rest.startsWith("[") && rest.endsWith("]") && rest.length > 2) return rest.slice(1, -1).split("][");
  return undefined;
}

/** A claim may be one string or a list of strings; either matches. */
export function claimMatcher(claims: readonly string[], match: StringMatch | null, invert: boolean): MetadataMatcher {
  const value = claimValue(match);
  return create(MetadataMatcherSchema, {
    filter: jwtFilter,
    path: ["payload", ...claims].map((value) => ({ segment: { case: "key" as const, value } })),
    value: {
      matchPattern: {
        case: "orMatch",
        value: {
          valueMatchers: [
            { matchPattern: { case: "listMatch", value: { matchPattern: { case: "oneOf", value } } } },
            value,
          ],
        },
      },
    },
    invert,
  });
}

function claimValue(match: StringMatch | null): MessageInitShape<typeof ValueMatcherSchema> {
  const matcher = match && !asksPresenceOnly(match) ? stringMatcher(match) : undefined;
  if (!matcher) return { matchPattern: { case: "presentMatch", value: true } };
  return { matchPattern: { case: "stringMatch", value: matcher } };
}
