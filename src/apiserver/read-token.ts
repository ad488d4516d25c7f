/**
 * A JWT and the key that alone signs them in, its claims out. Checked in one go on this thread: handing a signature to another
 * one, as libraries do, costs more than the signature.
 */
import { type KeyObject, verify } from "node:crypto";
import { FairleadError, isRecord, parseJson } from "../lib/index.ts";
import { ecdsaSignature } from "../pki/index.ts";

export interface TokenClaims {
  readonly audiences: readonly string[];
  readonly jti: string | undefined;
  /** What Kubernetes says of account, Pod and such. */
  readonly kubernetes: unknown;
}

export interface TokenTerms {
  /** Of curve P-256. */
  readonly key: KeyObject;
  readonly issuer: string;
  readonly now: Date;
}

const claimLimits = { maxBytes: 16 * 1024, maxDepth: 8 };
/** ES256: two numbers of 32 bytes. */
const signatureBytes = 64;

/** Throws `unauthenticated` for whatever the key has not signed, or that is not valid now. */
export function readToken(token: string, { key, issuer, now }: TokenTerms): TokenClaims {
  const [head = "", body = "", end = "", ...more] = token.split(".");
  if (more.length > 0 || readPart(head)["alg"] !== "ES256") throw refused("it is no JWT of algorithm ES256");
  const signature = decode(end);
  const signed = Buffer.from(`${head}.${body}`, "latin1");
  if (signature.length !== signatureBytes || !verify("sha256", signed, key, ecdsaSignature(signature)))
    throw refused("its signature is wrong");
  const { iss, exp, nbf, aud, sub, jti, "kubernetes.io": kubernetes } = readPart(body);
  const seconds = Math.floor(now.getTime() / 1000);
  if (iss !== issuer || typeof sub !== "string") throw refused("it is of another issuer");
  if (typeof exp !== "number" || exp <= seconds) throw refused("it has expired");
  if (nbf !== undefined && !(typeof nbf === "number" && nbf <= seconds)) throw refused("it is not valid yet");
  const audiences = [aud].flat().filter((one) => typeof one === "string");
  return { audiences, jti: typeof jti === "string" ? jti : undefined, kubernetes };
}

function readPart(text: string): Readonly<Record<string, unknown>> {
  const bytes = decode(text);
  try {
    const value = parseJson(bytes.toString("utf8"), claimLimits);
    if (isRecord(value)) return value;
  } catch {
    // What it says is never repeated.
  }
  throw refused("a part of it is not JSON");
}

/** Each text of bytes has but one encoding. */
function decode(text: string): Buffer {
  const bytes = Buffer.from(text, "base64url");
  if (text === "" || bytes.toString("base64url") !== text) throw refused("a part of it is not base64url");
  return bytes;
}

function refused(why: string): FairleadError {
  return new FairleadError("unauthenticated", `the token is not valid: ${why}`);
}
