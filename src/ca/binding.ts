/**
 * What a certificate was issued for, beyond its name: the account and the Pod that were there. It is written into the
 * certificate, so that any replica can ask, when the certificate renews itself, whether they still are.
 */
import type { X509Certificate } from "node:crypto";
import { clockGraceMs, factsOf } from "../pki/index.ts";

export interface Binding {
  /** Uid of the ServiceAccount. */
  readonly account: string;
  /** The Pod that the token was bound to, where it was. */
  readonly pod: { readonly name: string; readonly uid: string } | undefined;
}

/**
 * A UUID of our own, in parts, under the arc that Microsoft keeps for those. Whole, under 2.25, it would be one number of
 * 128 bits, and Go refuses a certificate with a number of more than 31 anywhere: pilot-agent and every Go client.
 */
const bindingOid = "1.2.840.113556.1.8000.2554.40239.19054.20919.19469.36410.8330336.11719829";

export function bindingFacts({ account, pod }: Binding): { readonly oid: string; readonly texts: readonly string[] } {
  return { oid: bindingOid, texts: [account, ...(pod ? [pod.name, pod.uid] : [])] };
}

/** Undefined for a certificate without one, such as one that another CA under the same root has signed. */
export function bindingOf(certificate: X509Certificate): Binding | undefined {
  const [account, name, uid] = factsOf(certificate, bindingOid) ?? [];
  if (account === undefined) return undefined;
  return { account, pod: name === undefined || uid === undefined ? undefined : { name, uid } };
}

/** How long it was issued for. */
export function lifeMs(certificate: X509Certificate): number {
  return certificate.validToDate.getTime() - certificate.validFromDate.getTime() - clockGraceMs;
}
