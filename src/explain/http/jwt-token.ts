/** One token and a provider's settings in; its claims, or Envoy's words for what is wrong with it, out. */
import { createPublicKey, type JsonWebKey, verify } from "node:crypto";
import type { JwtProvider } from "../../gen/envoy/extensions/filters/http/jwt_authn/v3/config_pb.js";
import { isRecord, parseJson } from "../../lib/index.ts";
import { matchesText } from "../match/text.ts";

export interface JwtSettings {
  readonly now: Date;
  /** What stands for keys that nobody fetched: signatures are then taken for good. */
  readonly unknownKeys: string;
}

export interface Checked {
  readonly failure: string | undefined;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly provider?: string;
  readonly unverified?: boolean;
}

export function checkToken(token: string, provider: JwtProvider, { now, unknownKeys }: JwtSettings): Checked {
  const parts = token.split(".");
  if (parts.length !== 3)
    return { failure: "Jwt is not in the form of Header.Payload.Signature with two dots and 3 sections" };
  const [header, claims] = parts.slice(0, 2).map(decoded);
  if (!header) return { failure: "Jwt header is an invalid JSON" };
  if (!claims) return { failure: "Jwt payload is an invalid JSON" };
  const alg = String(header.alg ?? "");
  if (!algorithms.has(alg)) return { failure: "Jwt header [alg] is not supported" };
  if (provider.issuer !== "" && claims.iss !== provider.issuer) return { failure: "Jwt issuer is not configured" };
  const seconds = now.getTime() / 1000;
  const skew = provider.clockSkewSeconds || 60;
  if (typeof claims.nbf === "number" && seconds + skew < claims.nbf) return { failure: "Jwt not yet valid" };
  if (typeof claims.exp === "number" && seconds > claims.exp + skew) return { failure: "Jwt is expired" };
  if (provider.subjects && !matchesText(provider.subjects, String(claims.sub ?? "")))
    return { failure: "Jwt subject is not allowed" };
  const given = Array.isArray(claims.aud) ? claims.aud.map(String) : typeof claims.aud === "string" ? [claims.aud] : [];
  if (
    provider.audiences.length > 0 &&
    !given.some((audience) => provider.audiences.map(plainAudience).includes(plainAudience(audience)))
  )
    return { failure: "Audiences in Jwt are not allowed" };
  const keys = inlineKeys(provider);
  if (keys.trim() === unknownKeys.trim() && unknownKeys !== "") return { failure: undefined, claims, unverified: true };
  return isSigned(token, alg, String(header.kid ?? ""), keys)
    ? { failure: undefined, claims }
    : { failure: keys === "" ? "Jwks doesn't have key to match kid or alg from Jwt" : "Jwt verification fails" };
}

/** Envoy takes these for the same: with and without scheme and last slash. */
const plainAudience = (audience: string): string => audience.replace(/^https?:\/\//, "").replace(/\/$/, "");

function decoded(part: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseJson(Buffer.from(part, "base64url").toString("utf8"));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function inlineKeys({ jwksSourceSpecifier: source }: JwtProvider): string {
  return source.case === "localJwks" && source.value.specifier.case === "inlineString"
    ? source.value.specifier.value
    : "";
}

const algorithms: ReadonlyMap<string, { readonly hash: string | null; readonly padding?: "pss" | "ieee" }> = new Map([
  ["RS256", { hash: "sha256" }],
  ["RS384", { hash: "sha384" }],
  ["RS512", { hash: "sha512" }],
  ["PS256", { hash: "sha256", padding: "pss" }],
  ["PS384", { hash: "sha384", padding: "pss" }],
  ["PS512", { hash: "sha512", padding: "pss" }],
  ["ES256", { hash: "sha256", padding: "ieee" }],
  ["ES384", { hash: "sha384", padding: "ieee" }],
  ["ES512", { hash: "sha512", padding: "ieee" }],
  ["EdDSA", { hash: null }],
] as const);

function isSigned(token: string, alg: string, kid: string, keySet: string): boolean {
  const set = readKeys(keySet);
  const algorithm = algorithms.get(alg);
  const dot = token.lastIndexOf(".");
  const [text, signature] = [Buffer.from(token.slice(0, dot)), Buffer.from(token.slice(dot + 1), "base64url")];
  return set
    .filter(
      (key) => (kid === "" || key.kid === undefined || key.kid === kid) && (key.alg === undefined || key.alg === alg),
    )
    .some((key) => {
      try {
        const publicKey = createPublicKey({ key, format: "jwk" });
        const options =
          algorithm?.padding === "pss"
            ? { padding: 6, saltLength: -1 }
            : algorithm?.padding === "ieee"
              ? { dsaEncoding: "ieee-p1363" as const }
              : {};
        return algorithm !== undefined && verify(algorithm.hash, text, { key: publicKey, ...options }, signature);
      } catch {
        return false;
      }
    });
}

function readKeys(keySet: string): readonly JsonWebKey[] {
  try {
    const set = parseJson(keySet);
    return isRecord(set) && Array.isArray(set.keys) ? set.keys.filter(isRecord) : [];
  } catch {
    return [];
  }
}
