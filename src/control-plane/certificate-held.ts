/** A certificate that a proxy shows in; whether the account and the Pod that it was issued to are still there out. */
import type { X509Certificate } from "node:crypto";
import { bindingOf, type StillThere } from "../ca/index.ts";
import type { Collection } from "../collections/index.ts";
import type { Identity, KubeObject } from "../model/index.ts";

export type CertificateHeld = (identity: Identity, certificate: X509Certificate) => Promise<boolean>;

export interface CertificateHeldOptions {
  readonly stillThere: StillThere;
  /** Spares the API a question for each proxy of a herd. */
  readonly pods: Collection<KubeObject>;
  /** How long one answer on an account serves all proxies that have it. */
  readonly sharedMs?: number;
}

const timeoutMs = 5000;

/**
 * Only a clear no counts: a certificate is proof by itself, and proxies must not lose their control plane with the API.
 * One without a binding, of another CA under the same root, is good until it expires.
 */
export function createCertificateHeld(options: CertificateHeldOptions): CertificateHeld {
  const { stillThere, pods, sharedMs = 10_000 } = options;
  const asked = new Map<string, Promise<boolean>>();
  return async (identity, certificate) => {
    const binding = bindingOf(certificate);
    if (!binding) return true;
    const { namespace, serviceAccount } = identity;
    const watched = binding.pod && pods.get(`${namespace}/${binding.pod.name}`)?.metadata.uid;
    const pod = watched === binding.pod?.uid ? undefined : binding.pod;
    const key = JSON.stringify([namespace, serviceAccount, binding.account, pod?.uid]);
    let answer = asked.get(key);
    if (!answer) {
      const signal = AbortSignal.timeout(timeoutMs);
      answer = stillThere(identity, { account: binding.account, pod }, signal).catch(() => true);
      asked.set(key, answer);
      setTimeout(() => asked.delete(key), sharedMs).unref();
    }
    return answer;
  };
}
