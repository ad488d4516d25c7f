/** A bearer token in; the workload identity that the API's TokenReview vouches for out. Fails closed. */
import type { Collection } from "../collections/index.ts";
import { type KubeClient, reviewToken } from "../kube/index.ts";
import { type Identity, isIdentity, type KubeObject, parseIdentity } from "../model/index.ts";
import { type Call, RpcError, status } from "../rpc/index.ts";
import type { Authenticate } from "../xds/index.ts";

export interface TokenJudge {
  identify(token: string, signal: AbortSignal): Promise<Identity | undefined>;
}

export interface TokenJudgeOptions {
  readonly client: KubeClient;
  readonly pods: Collection<KubeObject>;
  readonly audiences: readonly string[];
  trustDomain(): string;
}

export function createTokenJudge(options: TokenJudgeOptions): TokenJudge {
  return {
    async identify(token, signal) {
      const verdict = await Promise.race([reviewToken(options.client, token, options.audiences), aborted(signal)]);
      if (!verdict.authenticated || !verdict.groups.includes("system:serviceaccounts")) return undefined;
      // A judge that does not know audiences answers with none: then nothing says that the token was meant for us.
      if (!verdict.audiences.some((audience) => options.audiences.includes(audience))) return undefined;
      const [system, kind, namespace = "", serviceAccount = ""] = verdict.username.split(":");
      if (system !== "system" || kind !== "serviceaccount") return undefined;
      const identity = { trustDomain: options.trustDomain(), namespace, serviceAccount };
      return isIdentity(identity) && isStillThere(options.pods, namespace, verdict.pod) ? identity : undefined;
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

/** Tokens outlive their Pods by a minute in Kubernetes; a Pod of the same name with another uid is not the one they were made for. */
function isStillThere(
  pods: Collection<KubeObject>,
  namespace: string,
  pod: { name: string; uid: string } | undefined,
): boolean {
  if (!pod) return true;
  const known = pods.get(`${namespace}/${pod.name}`)?.metadata.uid;
  return known === undefined || known === pod.uid;
}

/** On the TLS port a proxy proves who it is, by its certificate or else by its token. */
export function authenticateWith(judge: TokenJudge): Authenticate {
  return async (call: Call) => {
    const proven = await callerIdentity(judge, call);
    if (!proven) throw new RpcError(status.unauthenticated, "authentication failure");
    return proven;
  };
}

async function callerIdentity(judge: TokenJudge, call: Call): Promise<Identity | undefined> {
  const [uri, ...others] = call.peer.tls?.uris ?? [];
  const shown = uri !== undefined && others.length === 0 ? parseIdentity(uri) : undefined;
  if (shown) return shown;
  return identityOf(judge, call.metadata("authorization"));
}

export async function identityOf(judge: TokenJudge, authorization: string | undefined): Promise<Identity | undefined> {
  const token = /^Bearer ([\x21-\x7e]{1,16384})$/.exec(authorization ?? "")?.[1];
  if (token === undefined) return undefined;
  return await judge.identify(token, AbortSignal.timeout(5_000)).catch(() => undefined);
}
