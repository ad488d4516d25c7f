/** A bearer token in; the workload identity that the API's TokenReview vouches for out. Fails closed. */
import type { Collection } from "../collections/index.ts";
import { type KubeClient, reviewToken } from "../kube/index.ts";
import { type Identity, isIdentity, type KubeObject } from "../model/index.ts";

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
