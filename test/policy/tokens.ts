/** A kind of token in; the text that a client sends out. The keys are made anew for each run. */
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { claimsOf } from "./evaluate.ts";
import { type TokenKind, tokenKinds } from "./request.ts";

export interface Tokens {
  /** Undefined: no header at all. */
  readonly texts: ReadonlyMap<TokenKind, string | undefined>;
  /** Public keys of the first and the second issuer. */
  readonly jwks: readonly [string, string];
}

export async function createTokens(): Promise<Tokens> {
  const [first, second, stranger] = await Promise.all([pair(), pair(), pair()]);
  const alice = { ...claimsOf.alice };
  const sign = (claims: object, key: CryptoKey, times: { exp?: string; nbf?: string } = {}): Promise<string> => {
    const token = new SignJWT({ ...claims }).setProtectedHeader({ alg: "ES256", kid: "k" });
    token.setExpirationTime(times.exp ?? "1h");
    if (times.nbf) token.setNotBefore(times.nbf);
    return token.sign(key);
  };
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const good = await sign(alice, first.privateKey);
  const texts: Record<TokenKind, string | undefined | Promise<string>> = {
    none: undefined,
    alice: good,
    bob: sign({ ...claimsOf.bob }, first.privateKey),
    "second-issuer": sign({ ...claimsOf["second-issuer"] }, second.privateKey),
    expired: sign(alice, first.privateKey, { exp: "-1h" }),
    "not-yet": sign(alice, first.privateKey, { nbf: "1h", exp: "2h" }),
    "wrong-issuer": sign({ ...alice, iss: "https://unknown.example" }, first.privateKey),
    "wrong-key": sign(alice, stranger.privateKey),
    "wrong-audience": sign({ ...alice, aud: ["somebody-else"] }, first.privateKey),
    unsigned: `${encode({ alg: "none" })}.${encode(alice)}.`,
    malformed: "not.a.token",
    "two-parts": good.split(".").slice(0, 2).join("."),
    empty: "",
  };
  const settled = await Promise.all(tokenKinds.map(async (kind) => [kind, await texts[kind]] as const));
  return { texts: new Map(settled), jwks: [first.jwks, second.jwks] };
}

async function pair(): Promise<{ readonly privateKey: CryptoKey; readonly jwks: string }> {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  return { privateKey, jwks: JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256" }] }) };
}
