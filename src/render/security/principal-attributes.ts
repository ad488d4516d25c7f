/** What is asked of the caller and the request (`from`, and the other keys of `when`): the attributes, by name. */
import { create } from "@bufbuild/protobuf";
import { type Principal, PrincipalSchema } from "../../gen/envoy/config/rbac/v3/rbac_pb.js";
import type { StringMatcher } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import { type Attribute, allValues, eachValue } from "./attribute.ts";
import { cidr } from "./cidr.ts";
import { namespaceMatch, principalMatch, serviceAccountMatch, trustDomainMatch } from "./identity-match.ts";
import { principals } from "./logic.ts";
import { bracketed, claimMatch, claimPath, requestPrincipalMatch } from "./token-match.ts";
import { expandPrincipals, expandTrustDomains, type TrustDomains } from "./trust-domain.ts";
import { headerMatch } from "./wildcard.ts";

type Identifier = NonNullable<Parameters<typeof create<typeof PrincipalSchema>>[1]>["identifier"];
const principal = (identifier: NonNullable<Identifier>): Principal => create(PrincipalSchema, { identifier });

/** Of the peer's certificate; a plaintext peer has none, so it matches no value, and every `not`. */
function identity(match: (value: string) => StringMatcher): Attribute<Principal> {
  return eachValue(false, (value) =>
    value.length > maxIdentity
      ? undefined
      : principal({ case: "authenticated", value: { principalName: match(value) } }),
  );
}

/** SPIFFE ids have at most 2048 bytes; Envoy bounds the size of patterns. */
const maxIdentity = 2048;

export interface PrincipalContext {
  /** Of the policy: what service accounts without a namespace mean. */
  readonly namespace: string;
  readonly trustDomains: TrustDomains;
}

export function sourcePrincipal({ trustDomains }: PrincipalContext): Attribute<Principal> {
  const each = identity(principalMatch);
  return { ...each, match: (values) => each.match(expandPrincipals(values, trustDomains)) };
}

export function sourceTrustDomain({ trustDomains }: PrincipalContext): Attribute<Principal> {
  const each = identity(trustDomainMatch);
  return { ...each, match: (values) => each.match(expandTrustDomains(values, trustDomains)) };
}

export function sourceServiceAccount({ namespace }: PrincipalContext): Attribute<Principal> {
  return identity((value) => serviceAccountMatch(value, namespace));
}

export const sourceNamespace: Attribute<Principal> = identity(namespaceMatch);

/** The address of the connection itself. */
export const sourceIp: Attribute<Principal> = eachValue(false, (value) => {
  const range = cidr(value);
  return range && principal({ case: "directRemoteIp", value: range });
});

/** R16: the client as X-Forwarded-For or the PROXY protocol tells it. */
export const remoteIp: Attribute<Principal> = eachValue(false, (value) => {
  const range = cidr(value);
  return range && principal({ case: "remoteIp", value: range });
});

export const requestPrincipal: Attribute<Principal> = allValues(true, (values) => {
  const pairs = values.map((value) =>
    principals.and(requestPrincipalMatch(value).map((matcher) => principal({ case: "metadata", value: matcher }))),
  );
  const [only] = pairs;
  return only && pairs.length === 1 ? only : principals.or(pairs);
});

const claims = (path: readonly string[] | undefined): Attribute<Principal> =>
  allValues(true, (values) => path && principal({ case: "metadata", value: claimMatch(path, values) }));

function header(name: string | undefined): Attribute<Principal> {
  return eachValue(true, (value) =>
    name === undefined ? undefined : principal({ case: "header", value: headerMatch(name, value) }),
  );
}

const named: ReadonlyMap<string, (context: PrincipalContext) => Attribute<Principal>> = new Map([
  ["source.ip", () => sourceIp],
  ["remote.ip", () => remoteIp],
  ["source.namespace", () => sourceNamespace],
  ["source.trustDomain", sourceTrustDomain],
  ["source.serviceAccount", sourceServiceAccount],
  ["source.principal", sourcePrincipal],
  ["request.auth.principal", () => requestPrincipal],
  ["request.auth.audiences", () => claims(["aud"])],
  ["request.auth.presenter", () => claims(["azp"])],
]);

const headerPrefix = "request.headers";
const claimPrefix = "request.auth.claims";

/** Undefined for keys that nobody knows. */
export function principalAttribute(key: string, context: PrincipalContext): Attribute<Principal> | undefined {
  const make = named.get(key);
  if (make) return make(context);
  if (key.startsWith(headerPrefix)) return header(bracketed(key.slice(headerPrefix.length)));
  if (key.startsWith(claimPrefix)) return claims(claimPath(key.slice(claimPrefix.length)));
  return undefined;
}
