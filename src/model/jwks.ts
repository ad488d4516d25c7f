/** Sets of public keys (JWKS): where a rule's keys come from, and which parts of a set may be shown to a proxy. */
import { createPublicKey } from "node:crypto";
import { isRecord, type ParseLimits, parseJson } from "../lib/index.ts";
import type { JWTRule } from "./kinds/index.ts";

/** Where keys have to be fetched: the address itself, or the issuer whose discovery document names it. */
export type JwksSource = { readonly uri: string } | { readonly issuer: string };

/** Undefined for rules that bring their keys with them. */
export function jwksSource(rule: JWTRule): JwksSource | undefined {
  if (rule.jwks) return undefined;
  const uri = rule.jwksUri || rule.jwks_uri;
  return uri ? { uri } : { issuer: rule.issuer ?? "" };
}

/** One key per place, and never the same one for two: addresses have no blank in them. */
export function jwksKey(source: JwksSource): string {
  return "uri" in source ? source.uri : `issuer ${source.issuer}`;
}

export const jwksLimits: ParseLimits = { maxBytes: 10 * 1024 * 1024, maxDepth: 100 };

/** Members of RFC 7518 that only the owner of an asymmetric key may have. */
const privateMembers: ReadonlySet<string> = new Set(["d", "p", "q", "dp", "dq", "qi", "oth"]);

/**
 * The set as a proxy may have it. R37: private members, which nobody should publish and some do, never get further
 * than here; without them the text is left as it is. Undefined where Envoy would find no key in it, for which it would
 * refuse the whole listener.
 */
export function publicJwks(text: string): string | undefined {
  const set = readSet(text);
  if (set === undefined) return undefined;
  if (!Array.isArray(set.keys)) return isCertificateMap(set) ? text : undefined;
  const keys = set.keys.filter(isRecord);
  if (!keys.some(isUsable)) return undefined;
  if (!keys.some(hasPrivate)) return text;
  return JSON.stringify({ ...set, keys: keys.map(withoutPrivate) });
}

/** The set for people to look at: without the secret of symmetric keys, which are their own private half. */
export function shownJwks(text: string): string {
  const set = readSet(text);
  if (!set || !Array.isArray(set.keys) || !set.keys.some((key) => isRecord(key) && key.k !== undefined)) return text;
  const keys = set.keys.map((key) => (isRecord(key) && key.k !== undefined ? { ...key, k: "[redacted]" } : key));
  return JSON.stringify({ ...set, keys });
}

function readSet(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed = parseJson(text, jwksLimits);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** The older form, a certificate by key id. */
function isCertificateMap(set: Readonly<Record<string, unknown>>): boolean {
  const values = Object.values(set);
  return values.length > 0 && values.every((value) => typeof value === "string" && value.startsWith("-----BEGIN CERT"));
}

type Jwk = Readonly<Record<string, unknown>>;

const hasPrivate = (key: Jwk): boolean => Object.keys(key).some((name) => privateMembers.has(name));

const withoutPrivate = (key: Jwk): Jwk =>
  Object.fromEntries(Object.entries(key).filter(([name]) => !privateMembers.has(name)));

/** Algorithms that go with each type of key, where the key names one. */
const algorithms: ReadonlyMap<unknown, RegExp> = new Map([
  ["RSA", /^(RS|PS)(256|384|512)$/],
  ["EC", /^ES(256|384|512)$/],
  ["OKP", /^EdDSA$/],
  ["oct", /^HS(256|384|512)$/],
]);

function isUsable(key: Jwk): boolean {
  const algorithm = algorithms.get(key.kty);
  if (!algorithm || (key.alg !== undefined && !algorithm.test(String(key.alg)))) return false;
  if (key.kty === "oct") return typeof key.k === "string" && /^[\w-]+={0,2}$/.test(key.k);
  try {
    createPublicKey({ key: withoutPrivate(key), format: "jwk" });
    return true;
  } catch {
    return false;
  }
}
