/** A CORS policy of a VirtualService in, Envoy's per-route policy out. */
import { create } from "@bufbuild/protobuf";
import {
  CorsPolicySchema,
  type CorsPolicy as EnvoyCorsPolicy,
} from "../../gen/envoy/extensions/filters/http/cors/v3/cors_pb.js";
import type { StringMatcher } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import type { CorsPolicy } from "../../model/index.ts";
import { exactMatch } from "../build/match.ts";
import { runtimePercent, wholePercent } from "../build/route-percent.ts";
import { asksPresenceOnly, isUsableMatch, stringMatcher } from "./string-match.ts";
import { unsignedDuration } from "./timeout.ts";

export function corsPolicy(policy: CorsPolicy): EnvoyCorsPolicy {
  const maxAge = unsignedDuration(policy.maxAge);
  return create(CorsPolicySchema, {
    // The filter is there for all routes; only those with a policy switch it on.
    filterEnabled: runtimePercent(wholePercent(100)),
    allowOriginStringMatch: allowedOrigins(policy),
    allowMethods: (policy.allowMethods ?? []).join(","),
    allowHeaders: (policy.allowHeaders ?? []).join(","),
    exposeHeaders: (policy.exposeHeaders ?? []).join(","),
    maxAge: maxAge ? maxAge.seconds.toString() : "",
    ...(typeof policy.allowCredentials === "boolean" ? { allowCredentials: policy.allowCredentials } : {}),
    forwardNotMatchingPreflights: policy.unmatchedPreflights !== "IGNORE",
  });
}

function allowedOrigins(policy: CorsPolicy): StringMatcher[] {
  const origins = policy.allowOrigins ?? [];
  if (origins.length === 0) return (policy.allowOrigin ?? []).map((origin) => exactMatch(origin));
  return origins
    .filter((origin) => !asksPresenceOnly(origin) && isUsableMatch(origin))
    .flatMap((origin) => stringMatcher(origin) ?? []);
}
