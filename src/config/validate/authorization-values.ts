/** The values that an AuthorizationPolicy compares with: lists in, the first reason why one is wrong out. */
import { parsePrefix } from "../../lib/index.ts";
import { isIp } from "./addresses.ts";
import { listed, quote } from "./report.ts";

export const emptyValueError = (key: string, values: readonly string[]): string | undefined =>
  values.includes("") ? `empty value not allowed, found in ${key}` : undefined;

function wildcardError(key: string, values: readonly string[]): string | undefined {
  const empty = emptyValueError(key, values);
  if (empty) return empty;
  for (const value of values) {
    const stars = value.split("*").length - 1;
    if (stars > 1) return `at most one wildcard is allowed, found in ${key}: ${quote(value)}`;
    if (stars === 1 && !value.startsWith("*") && !value.endsWith("*"))
      return `wildcard is only allowed at the start or end, found in ${key}: ${quote(value)}`;
  }
  return undefined;
}

export function trustDomainError(key: string, values: readonly string[]): string | undefined {
  const wrong = wildcardError(key, values);
  if (wrong) return wrong;
  const slash = values.find((value) => value.includes("/"));
  return slash === undefined ? undefined : `trust domain must not contain '/', found in ${key}: ${quote(slash)}`;
}

export function serviceAccountError(key: string, values: readonly string[]): string | undefined {
  if (values.length > 16) return "may not have more than 16 values";
  const form = "expected format 'serviceAccount' or 'namespace/serviceAccount', found";
  for (const value of values) {
    if (value === "") return `empty value not allowed, found in ${key}`;
    if (value.includes("*")) return `wildcard not allowed, found in ${key}`;
    const parts = value.split("/");
    if (parts.length > 2) return `${form} ${quote(value)} in ${key}`;
    if (value.length > 320) return `value cannot exceed 320 characters, found ${quote(value)} in ${key}`;
    if (parts.length === 2 && parts[0] === "") return `${form} empty namespace ${quote(value)} in ${key}`;
    if (parts.at(-1) === "") return `${form} empty serviceAccount ${quote(value)} in ${key}`;
  }
  return undefined;
}

export function ipErrors(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => {
    if (!value.includes("/")) return isIp(value) ? [] : [`bad IP address (${value})`];
    const prefix = parsePrefix(value);
    return "error" in prefix ? [`bad CIDR range (${value}): ${prefix.error}`] : [];
  });
}

export function portErrors(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => {
    if (!/^\d+$/.test(value))
      return [`bad port (${value}): strconv.ParseUint: parsing ${quote(value)}: invalid syntax`];
    if (Number(value) >= 2 ** 32)
      return [`bad port (${value}): strconv.ParseUint: parsing ${quote(value)}: value out of range`];
    return Number(value) > 65535 ? [`bad port (${value}): <nil>`] : [];
  });
}

const one = "{*}";
const any = "{**}";

/** `{*}` stands for one segment, `{**}` for the rest; nothing else may have braces. */
export function pathTemplateError(key: string, paths: readonly string[]): string | undefined {
  for (const given of paths) {
    const isTemplate = given.includes(one) || given.includes(any);
    const path = given.replace(/^\/+|\/+$/g, "");
    const wrong = segmentError(path.split("/"), isTemplate);
    if (wrong) return `invalid or unsupported path ${path}, found in ${key}. ${wrong}`;
  }
  return undefined;
}

function segmentError(segments: readonly string[], isTemplate: boolean): string | undefined {
  let sawAny = false;
  for (const segment of segments) {
    if (segment === one || segment === any) {
      if (sawAny) return "{**} is not the last operator";
      sawAny = segment === any;
      continue;
    }
    if (/[{}]/.test(segment)) return "Contains '{' or '}' beyond a supported path template";
    if (isTemplate && !/^[a-zA-Z0-9\-._~%!$&'()+,;:@=]+$/.test(segment))
      return `Contains segment ${segment} with invalid string literal`;
  }
  return undefined;
}

const free: ReadonlySet<string> = new Set([
  "source.namespace",
  "source.principal",
  "request.auth.principal",
  "request.auth.audiences",
  "request.auth.presenter",
  "connection.sni",
]);

const inBrackets = ["request.headers", "request.auth.claims", "experimental.envoy.filters."] as const;

/** What is wrong with a `when` condition's key, or with the values it is compared with. */
export function attributeError(key: string, values: readonly string[]): string | undefined {
  const empty = emptyValueError(key, values);
  if (empty) return empty;
  if (free.has(key)) return undefined;
  if (inBrackets.some((prefix) => key.startsWith(prefix))) return bracketError(key);
  switch (key) {
    case "source.ip":
    case "remote.ip":
    case "destination.ip":
      return joined(ipErrors(values));
    case "destination.port":
      return joined(portErrors(values));
    case "source.serviceAccount":
      return serviceAccountError(key, values);
    case "source.trustDomain":
      return wildcardError(key, values);
    default:
      return replacedError(key);
  }
}

function replacedError(key: string): string {
  if (key === "destination.namespace") return `attribute ${key} is replaced by the metadata.namespace`;
  if (key.startsWith("destination.labels")) return `attribute ${key} is replaced by the workload selector`;
  if (key === "destination.name" || key === "destination.user")
    return `deprecated attribute ${key}: only supported in v1alpha1`;
  return `unknown attribute: ${key}`;
}

const joined = (errors: readonly string[]): string | undefined => (errors.length === 0 ? undefined : listed(errors));

function bracketError(key: string): string | undefined {
  const open = key.indexOf("[");
  return key.endsWith("]") && open > 0 && open < key.length - 2
    ? undefined
    : `bad key (${key}): should have format a[b]`;
}
