/** A bearer token or a certificate in; the workload identity that the API vouches for out. Fails closed. */
import { type AcceptsPeer, type AuthenticateToken, bindingOf, type StillThere, type TokenBearer } from "../ca/index.ts";
import type { Collection } from "../collections/index.ts";
import { type KubeClient, kubeKinds, reviewToken } from "../kube/index.ts";
import { type Identity, isIdentity, type KubeObject, parseIdentity } from "../model/index.ts";
import { type Call, RpcError, status } from "../rpc/index.ts";
import type { Authenticate, Proven } from "../xds/index.ts";
import type { CertificateHeld } from "./certificate-held.ts";
import { createSharedReviews } from "./shared-reviews.ts";

export interface TokenJudge {
  readonly identify: AuthenticateToken;
}

export interface TokenJudgeOptions {
  readonly client: KubeClient;
  readonly pods: Collection<KubeObject>;
  readonly audiences: readonly string[];
  trustDomain(): string;
  /** How long the API's yes to a token serves all who show it; each time anew it is looked whether its Pod is there. */
  readonly sharedMs?: number;
  readonly monotonicMs: () => number;
}

/** Less than an API server itself goes by an answer (10 s). */
const usuallySharedMs = 5000;

export function createTokenJudge(options: TokenJudgeOptions): TokenJudge {
  const review = createSharedReviews({
    sharedMs: options.sharedMs ?? usuallySharedMs,
    monotonicMs: options.monotonicMs,
    review: (token) => reviewToken(options.client, token, options.audiences),
  });
  return {
    async identify(token, signal) {
      const verdict = await Promise.race([review(token), aborted(signal)]);
      if (!verdict.authenticated || !verdict.groups.includes("system:serviceaccounts")) return undefined;
      // A judge that does not know audiences answers with none: then nothing says that the token was meant for us.
      if (!verdict.audiences.some((audience) => options.audiences.includes(audience))) return undefined;
      const [system, kind, namespace = "", serviceAccount = ""] = verdict.username.split(":");
      if (system !== "system" || kind !== "serviceaccount") return undefined;
      const identity = { trustDomain: options.trustDomain(), namespace, serviceAccount };
      if (!isIdentity(identity)) return undefined;
      if (verdict.pod && !(await isThere(options, namespace, verdict.pod, signal))) return undefined;
      return { identity, binding: { account: verdict.uid, pod: verdict.pod } };
    },
  };
}

/** As istiod asks them: the first who knows the token says whose it is; the last one's doubts are told. */
export function firstJudge(...judges: readonly [...TokenJudge[], TokenJudge]): TokenJudge {
  return {
    async identify(token, signal) {
      for (const judge of judges.slice(0, -1)) {
        const bearer = await judge.identify(token, signal).catch(() => undefined);
        if (bearer) return bearer;
      }
      return judges.at(-1)?.identify(token, signal);
    },
  };
}

/** An API that does not answer must not keep callers waiting for longer than they said. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/**
 * Tokens outlive their Pods by a minute in Kubernetes; a Pod of the same name with another uid is not the one they were made
 * for. One that the watch does not have may be gone, or so new that only the API knows it.
 */
async function isThere(
  { pods, client }: TokenJudgeOptions,
  namespace: string,
  { name, uid }: { readonly name: string; readonly uid: string },
  signal: AbortSignal,
): Promise<boolean> {
  const known = pods.get(`${namespace}/${name}`) ?? (await client.find(kubeKinds.pods, { namespace, name }, signal));
  return known?.metadata.uid === uid;
}

/** Asked of the API itself: what was deleted a moment ago must not renew itself because a watch is behind. */
export function createStillThere(client: KubeClient): StillThere {
  return async ({ namespace, serviceAccount }, binding, signal) => {
    const account = await client.find(kubeKinds.serviceAccounts, { namespace, name: serviceAccount }, signal);
    if (!account || account.metadata.deletionTimestamp !== undefined) return false;
    if (!binding) return true;
    // A new account of the same name is another one.
    if (binding.account !== "" && account.metadata.uid !== binding.account) return false;
    if (!binding.pod) return true;
    const pod = await client.find(kubeKinds.pods, { namespace, name: binding.pod.name }, signal);
    return pod?.metadata.uid === binding.pod.uid;
  };
}

/** On the TLS port a proxy proves who it is, by its certificate or else by its token. */
export function authenticateWith(judge: TokenJudge, isHeld: CertificateHeld, accepts: AcceptsPeer): Authenticate {
  return async (call: Call) => {
    const proven = await provenBy(judge, isHeld, accepts, call);
    if (!proven) throw new RpcError(status.unauthenticated, "authentication failure");
    return proven;
  };
}

async function provenBy(
  judge: TokenJudge,
  isHeld: CertificateHeld,
  accepts: AcceptsPeer,
  call: Call,
): Promise<Proven | undefined> {
  const [uri, ...others] = call.peer.tls?.uris ?? [];
  const shown = uri !== undefined && others.length === 0 ? parseIdentity(uri) : undefined;
  const certificate = call.peer.tls?.certificate;
  if (shown && certificate && accepts(shown, certificate) && (await isHeld(shown, certificate)))
    return { identity: shown, pod: bindingOf(certificate)?.pod?.name };
  const bearer = await bearerOf(judge, call.metadata("authorization"));
  return bearer && { identity: bearer.identity, pod: bearer.binding?.pod?.name };
}

export async function identityOf(judge: TokenJudge, authorization: string | undefined): Promise<Identity | undefined> {
  return (await bearerOf(judge, authorization))?.identity;
}

async function bearerOf(judge: TokenJudge, authorization: string | undefined): Promise<TokenBearer | undefined> {
  const token = /^Bearer ([\x21-\x7e]{1,16384})$/.exec(authorization ?? "")?.[1];
  if (token === undefined) return undefined;
  return judge.identify(token, AbortSignal.timeout(5_000)).catch(() => undefined);
}
