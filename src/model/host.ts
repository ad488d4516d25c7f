/** Host names as Istio's objects write them: full names, short names, and wildcards with one leading `*`. */

export const isWildcard = (host: string): boolean => host.startsWith("*");

/** True when one of the two covers the other, in either direction: `*.com` and `a.com`, `*.a.com` and `*.com`. */
export function hostsOverlap(a: string, b: string): boolean {
  return hostCovers(a, b) || hostCovers(b, a);
}

/** True when every name that `inner` stands for is one that `outer` stands for. */
export function hostCovers(outer: string, inner: string): boolean {
  if (outer === inner) return true;
  if (!isWildcard(outer)) return false;
  const tail = outer.slice(1);
  return isWildcard(inner) ? inner.slice(1).endsWith(tail) : inner.endsWith(tail);
}

/** `reviews` written in an object of namespace `shop` means `reviews.shop.svc.DOMAIN`; names with a dot, and wildcards, are whole. */
export function resolveHost(name: string, namespace: string, domain: string): string {
  if (name.includes(".") || isWildcard(name) || name === "") return name;
  return `${name}.${namespace}.svc.${domain}`;
}

/** Most specific first, as Istio orders hosts: exact before wildcard, longer before shorter, then by name. */
export function compareSpecificity(a: string, b: string): number {
  const [x, y] = [isWildcard(a), isWildcard(b)];
  if (x !== y) return x ? 1 : -1;
  if (a.length !== b.length) return b.length - a.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
