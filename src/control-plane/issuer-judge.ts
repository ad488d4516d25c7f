/**
 * A token of an OpenID Connect issuer that the operator names (`JWT_RULE`) in; the workload identity that it stands for out.
 * The issuer's keys are fetched within bounds and kept; while it does not answer the last ones hold.
 */
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, type JWTVerifyGetKey, jwtVerify } from "jose";
import type { HttpClient } from "../fetch/index.ts";
import { FairleadError, isRecord, type Logger, parseJson, readList, readRecord, readText } from "../lib/index.ts";
import { isIdentity } from "../model/index.ts";
import type { TokenJudge } from "./authenticate.ts";

export interface IssuerRule {
  readonly issuer: string;
  /** Where its keys are; asked of the issuer itself where empty. */
  readonly jwksUri: string;
  /** A token must be for one of these. */
  readonly audiences: readonly string[];
}

export interface IssuerJudgeOptions {
  readonly rule: IssuerRule;
  readonly http: HttpClient;
  trustDomain(): string;
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  readonly log: Logger;
}

const limits = { maxBytes: 1024 * 1024, timeoutMs: 5000 };
const maxKeys = 100;
/** How long keys hold, and how soon they may be asked for again because a token names one that is not among them. */
const keptMs = 20 * 60_000;
const againMs = 10_000;
/** No shared secrets: whoever can check those can make them. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const publicTypes: ReadonlySet<string> = new Set(["RSA", "EC", "OKP"]);
const privateMembers: ReadonlySet<string> = new Set(["d", "p", "q", "dp", "dq", "qi", "oth", "k"]);

export function createIssuerJudge(options: IssuerJudgeOptions): TokenJudge {
  const { rule, now } = options;
  const keys = createKeys(options);
  return {
    async identify(token) {
      // Tokens of others are another judge's, and no reason to call anybody.
      if (decodeJwt(token).iss !== rule.issuer) return undefined;
      const { payload } = await jwtVerify(token, keys, {
        ...{ issuer: rule.issuer, audience: [...rule.audiences], algorithms, currentDate: now() },
        requiredClaims: ["exp", "sub", "aud"],
      });
      const [system, kind, namespace = "", serviceAccount = "", ...more] = (payload.sub ?? "").split(":");
      if (system !== "system" || kind !== "serviceaccount" || more.length > 0) return undefined;
      const identity = { trustDomain: options.trustDomain(), namespace, serviceAccount };
      return isIdentity(identity) ? { identity } : undefined;
    },
  };
}

function createKeys({ rule, http, monotonicMs, log }: IssuerJudgeOptions): JWTVerifyGetKey {
  let current: { readonly find: JWTVerifyGetKey; readonly at: number } | undefined;
  let asked: { readonly answer: Promise<JWTVerifyGetKey>; readonly at: number } | undefined;
  const fetchKeys = async (): Promise<JWTVerifyGetKey> => {
    const find = createLocalJWKSet(await readKeys(rule, http));
    current = { find, at: monotonicMs() };
    return find;
  };
  /** Whatever tokens name, the issuer is asked once in a while, and once for all who wait. */
  const refresh = (): Promise<JWTVerifyGetKey> => {
    if (asked && monotonicMs() - asked.at < againMs) return asked.answer;
    const answer = fetchKeys();
    answer.catch((error: unknown) =>
      log.warn(`the keys of issuer ${rule.issuer} cannot be had: ${FairleadError.from(error).message}`),
    );
    asked = { answer, at: monotonicMs() };
    return answer;
  };
  return async (header, token) => {
    if (!current) return (await refresh())(header, token);
    if (monotonicMs() - current.at > keptMs) await refresh().catch(() => undefined);
    try {
      return await current.find(header, token);
    } catch (error) {
      // It may have come since.
      const fresh = await refresh().catch(() => undefined);
      if (!fresh) throw error;
      return fresh(header, token);
    }
  };
}

async function readKeys(rule: IssuerRule, http: HttpClient): Promise<JSONWebKeySet> {
  const get = async (url: string): Promise<Readonly<Record<string, unknown>>> =>
    readRecord(parseJson(new TextDecoder().decode(await http.get(url, limits))));
  const found = rule.jwksUri === "" ? await discover(rule.issuer, get) : rule.jwksUri;
  const keys = readList((await get(found)).keys)
    .map(readRecord)
    .filter((key) => publicTypes.has(readText(key.kty)))
    .slice(0, maxKeys);
  if (keys.length === 0) throw new FairleadError("invalid", `${found} has no keys`);
  return { keys: keys.map(publicPart) };
}

async function discover(
  issuer: string,
  get: (url: string) => Promise<Readonly<Record<string, unknown>>>,
): Promise<string> {
  const about = await get(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  // Who answers for another issuer could give its own keys.
  if (readText(about.issuer) !== issuer)
    throw new FairleadError("invalid", `what is at ${issuer} says that it is ${readText(about.issuer)}`);
  const keys = readText(about.jwks_uri);
  // Whoever is on the way there could give keys of their own.
  if (issuer.startsWith("https:") && !keys.startsWith("https:"))
    throw new FairleadError("invalid", `${issuer} has its keys at ${keys}, which is not encrypted`);
  return keys;
}

function publicPart(key: Readonly<Record<string, unknown>>): JSONWebKeySet["keys"][number] {
  const kept = Object.entries(key).filter(([name]) => !privateMembers.has(name));
  return { kty: readText(key.kty), ...Object.fromEntries(kept) };
}

/** `JWT_RULE`, with the names of Istio's JWTRule as Go or YAML writes them. Throws `usage`. */
export function parseIssuerRule(text: string): IssuerRule {
  const unfit = (why: string): FairleadError =>
    new FairleadError("usage", `JWT_RULE: ${why}`, {
      hint: '{"issuer": "https://issuer", "jwks_uri": "https://issuer/keys", "audiences": ["istio-ca"]}',
    });
  let parsed: unknown;
  try {
    parsed = parseJson(text);
  } catch (error) {
    throw unfit(FairleadError.from(error).message);
  }
  if (!isRecord(parsed)) throw unfit("it is no JSON object");
  const issuer = readText(parsed.issuer);
  const audiences = readList(parsed.audiences).filter((audience) => typeof audience === "string");
  if (issuer === "") throw unfit("there is no issuer");
  if (audiences.length === 0) throw unfit("there are no audiences, so that no token is good");
  return { issuer, jwksUri: readText(parsed.jwks_uri) || readText(parsed.jwksUri), audiences };
}
