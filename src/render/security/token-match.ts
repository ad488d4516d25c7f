/** What policies say of a request's verified token in; matchers of the metadata that the JWT filter leaves out. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type MetadataMatcher, MetadataMatcherSchema } from "../../gen/envoy/type/matcher/v3/metadata_pb.js";
import type { StringMatcher } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import type { ValueMatcherSchema } from "../../gen/envoy/type/matcher/v3/value_pb.js";
import { exactMatch, prefixMatch, suffixMatch } from "../build/match.ts";
import { jwtFilterName, payloadKey } from "./jwt-names.ts";
import { anyText, wildcardMatch } from "./wildcard.ts";

export type ValueInit = MessageInitShape<typeof ValueMatcherSchema>;

export function metadataMatch(filter: string, path: readonly string[], value: ValueInit): MetadataMatcher {
  return create(MetadataMatcherSchema, {
    filter,
    path: path.map((key) => ({ segment: { case: "key" as const, value: key } })),
    value,
  });
}

export const textValue = (value: StringMatcher): ValueInit => ({ matchPattern: { case: "stringMatch", value } });

export const listWith = (value: ValueInit): ValueInit => ({
  matchPattern: { case: "listMatch", value: { matchPattern: { case: "oneOf", value } } },
});

/** One stands for itself. */
export function oneOf(values: readonly ValueInit[]): ValueInit {
  const [only] = values;
  if (only && values.length === 1) return only;
  return { matchPattern: { case: "orMatch", value: { valueMatchers: [...values] } } };
}

/** A claim may be one text or a list of texts; either matches. */
export function claimMatch(claims: readonly string[], values: readonly string[]): MetadataMatcher {
  const value = oneOf(values.map((text) => textValue(wildcardMatch(text))));
  return metadataMatch(jwtFilterName, [payloadKey, ...claims], oneOf([listWith(value), value]));
}

/** `[group]`, `[org][name]`; undefined for what is no list of names in brackets. */
export function claimPath(text: string): readonly string[] | undefined {
  const names = text.match(/\[[^[\]]*\]/g) ?? [];
  if (names.join("") === text) return names.map((name) => name.slice(1, -1));
  const whole = bracketed(text);
  return whole === undefined ? undefined : [whole];
}

/** What is between the first and the last bracket. */
export function bracketed(text: string): string | undefined {
  if (!text.startsWith("[") || !text.endsWith("]")) return undefined;
  return text.slice(0, -1).replace(/^\[/, "");
}

/** `ISSUER/SUBJECT`, split at the last slash because issuers are URLs. Returns a matcher of each. */
export function requestPrincipalMatch(value: string): readonly [issuer: MetadataMatcher, subject: MetadataMatcher] {
  const { issuer, subject } = splitPrincipal(value);
  return [claim("iss", issuer), claim("sub", subject)];
}

const claim = (name: string, value: StringMatcher): MetadataMatcher =>
  metadataMatch(jwtFilterName, [payloadKey, name], textValue(value));

function splitPrincipal(value: string): { readonly issuer: StringMatcher; readonly subject: StringMatcher } {
  const slash = value.lastIndexOf("/");
  const [issuer, subject] = slash < 0 ? [value, ""] : [value.slice(0, slash), value.slice(slash + 1)];
  if (value === "*") return { issuer: anyText(), subject: anyText() };
  if (value.startsWith("*")) {
    if (slash < 0) return { issuer: anyText(), subject: suffixMatch(value.slice(1)) };
    return { issuer: issuer === "*" ? anyText() : suffixMatch(issuer.slice(1)), subject: exactMatch(subject) };
  }
  if (value.endsWith("*")) {
    if (slash < 0) return { issuer: prefixMatch(value.slice(0, -1)), subject: anyText() };
    return { issuer: exactMatch(issuer), subject: subject === "*" ? anyText() : prefixMatch(subject.slice(0, -1)) };
  }
  return { issuer: exactMatch(issuer), subject: exactMatch(subject) };
}
