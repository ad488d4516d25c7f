/** Service-account tokens: an order in, a signed JWT out; a JWT in, the user whom it stands for out, while what it is bound to lives. */
import { type KeyObject, randomUUID } from "node:crypto";
import { join } from "node:path";
import { calculateJwkThumbprint, exportJWK, SignJWT } from "jose";
import { FairleadError } from "../lib/index.ts";
import { listAt, textAt } from "./access.ts";
import { loadOrCreateKey } from "./authority.ts";
import { readToken } from "./read-token.ts";
import type { Store } from "./store.ts";
import type { User } from "./user.ts";

export const issuer = "https://kubernetes.default.svc.cluster.local";
/** The audience of a token that is for this API. */
export const apiAudience = issuer;

export interface BoundObject {
  readonly kind: "Pod" | "Secret" | "Node";
  readonly name: string;
  readonly uid: string;
}

export interface TokenOrder {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly bound: BoundObject | undefined;
}

export interface TokenUser {
  readonly user: User;
  readonly audiences: readonly string[];
}

export interface Tokens {
  issue(order: TokenOrder): Promise<{ readonly token: string; readonly expires: Date }>;
  /** The user, if the token is ours, valid, for one of the audiences, and all that it is bound to still exists. */
  verify(token: string, audiences: readonly string[]): Promise<TokenUser | { readonly error: string }>;
  readonly jwks: unknown;
}

const maxTokenLength = 16 * 1024;

export async function openTokens(dataDir: string, store: Store, now: () => Date): Promise<Tokens> {
  const { privateKey: key, publicKey } = await loadOrCreateKey(join(dataDir, "service-account.key"));
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  return {
    jwks: { keys: [{ ...jwk, use: "sig", alg: "ES256", kid }] },
    issue: (order) => sign(key, kid, order, now()),
    async verify(token, audiences) {
      if (token.length > maxTokenLength) return { error: "the token is too long" };
      try {
        const { audiences: own, jti, kubernetes } = readToken(token, { key: publicKey, issuer, now: now() });
        const matching = audiences.filter((audience) => own.includes(audience));
        if (matching.length === 0)
          return {
            error: `token audiences ${JSON.stringify(own)} is invalid for the target audiences ${JSON.stringify(audiences)}`,
          };
        return userOf(store, kubernetes, jti, matching);
      } catch (error) {
        // What was wrong with it is told, the token itself never.
        return { error: FairleadError.from(error).message };
      }
    },
  };
}

async function sign(
  key: KeyObject,
  kid: string,
  order: TokenOrder,
  now: Date,
): Promise<{ token: string; expires: Date }> {
  const issued = Math.floor(now.getTime() / 1000);
  const expires = issued + order.expirationSeconds;
  const bound =
    order.bound === undefined
      ? {}
      : { [order.bound.kind.toLowerCase()]: { name: order.bound.name, uid: order.bound.uid } };
  const claims = { namespace: order.namespace, serviceaccount: { name: order.name, uid: order.uid }, ...bound };
  const token = await new SignJWT({ "kubernetes.io": claims })
    .setProtectedHeader({ alg: "ES256", kid })
    .setIssuer(issuer)
    .setSubject(`system:serviceaccount:${order.namespace}:${order.name}`)
    .setAudience([...order.audiences])
    .setIssuedAt(issued)
    .setNotBefore(issued)
    .setExpirationTime(expires)
    .setJti(randomUUID())
    .sign(key);
  return { token, expires: new Date(expires * 1000) };
}

/** A token dies with its ServiceAccount, and with the Pod (or Secret, or Node) that it was made for. */
function userOf(
  store: Store,
  claims: unknown,
  jti: string | undefined,
  audiences: readonly string[],
): TokenUser | { readonly error: string } {
  const namespace = textAt(claims, "namespace");
  const name = textAt(claims, "serviceaccount", "name");
  const uid = textAt(claims, "serviceaccount", "uid");
  const account = store.get("/serviceaccounts", `${namespace}/${name}`);
  if (account?.metadata.uid !== uid || uid === "")
    return { error: `the ServiceAccount ${namespace}/${name} of the token no longer exists` };
  const [podName, podUid] = [textAt(claims, "pod", "name"), textAt(claims, "pod", "uid")];
  if (podName !== "" && store.get("/pods", `${namespace}/${podName}`)?.metadata.uid !== podUid)
    return { error: `the Pod ${namespace}/${podName} of the token no longer exists` };
  const [secretName, secretUid] = [textAt(claims, "secret", "name"), textAt(claims, "secret", "uid")];
  if (secretName !== "" && store.get("/secrets", `${namespace}/${secretName}`)?.metadata.uid !== secretUid)
    return { error: `the Secret ${namespace}/${secretName} of the token no longer exists` };
  const pod =
    podName === ""
      ? {}
      : { "authentication.kubernetes.io/pod-name": [podName], "authentication.kubernetes.io/pod-uid": [podUid] };
  const id = jti === undefined ? {} : { "authentication.kubernetes.io/credential-id": [`JTI=${jti}`] };
  return { user: serviceAccountUser(namespace, name, uid, { ...id, ...pod }), audiences };
}

function serviceAccountUser(namespace: string, name: string, uid: string, extra: User["extra"]): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
    extra,
  };
}

/** The audiences of a TokenRequest; none means this API. */
export function askedAudiences(spec: unknown): readonly string[] {
  const asked = listAt(spec, "audiences").filter((a) => typeof a === "string" && a !== "") as string[];
  return asked.length === 0 ? [apiAudience] : asked;
}
