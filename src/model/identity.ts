/** SPIFFE identities of workloads: `spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/SERVICE-ACCOUNT`, parsed strictly. */

export interface Identity {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly serviceAccount: string;
}

const label = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const name = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;
const domain = /^[a-z0-9]([-a-z0-9._]{0,253}[a-z0-9])?$/;

export function formatIdentity(id: Identity): string {
  return `spiffe://${id.trustDomain}/ns/${id.namespace}/sa/${id.serviceAccount}`;
}

/** Undefined for anything but exactly the ns/sa form with well-formed names. */
export function parseIdentity(uri: string): Identity | undefined {
  const match = /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(uri);
  if (!match || uri.length > 2048) return undefined;
  const [, trustDomain = "", namespace = "", serviceAccount = ""] = match;
  const id = { trustDomain, namespace, serviceAccount };
  return isIdentity(id) ? id : undefined;
}

export function isIdentity(id: Identity): boolean {
  return domain.test(id.trustDomain) && label.test(id.namespace) && name.test(id.serviceAccount);
}
