/** Principals and trust domains of policies in; the same for every name that the mesh's trust domain has or had out. */

/** The mesh's trust domain first, then its aliases. */
export type TrustDomains = readonly string[];

/** What policies call the mesh's own trust domain, whatever it is. */
const ownDomain = "cluster.local";

/** `DOMAIN/ns/NAMESPACE/sa/ACCOUNT`; anything else, and `*` as the domain, says nothing of a trust domain. */
export function expandPrincipals(principals: readonly string[], domains: TrustDomains): readonly string[] {
  return principals.flatMap((principal) => {
    const [domain = "", ...rest] = principal.split("/");
    if (rest.length !== 4 || domain === "*" || !isOwn(domain, domains)) return [principal];
    // A wildcard that covers a name stays as it is, once.
    return [...new Set(domains.map((name) => (endsAs(name, domain) ? principal : [name, ...rest].join("/"))))];
  });
}

export function expandTrustDomains(values: readonly string[], domains: TrustDomains): readonly string[] {
  return [...new Set(values.flatMap((value) => (domains.includes(value) ? domains : [value])))];
}

/** Wildcards count on both sides. */
function isOwn(domain: string, domains: TrustDomains): boolean {
  return (
    domain === ownDomain ||
    domains.some(
      (name) =>
        name === domain ||
        name === "*" ||
        startsAs(domain, name) ||
        startsAs(name, domain) ||
        endsAs(domain, name) ||
        endsAs(name, domain),
    )
  );
}

const startsAs = (text: string, pattern: string): boolean =>
  pattern.endsWith("*") && text.startsWith(pattern.slice(0, -1));

const endsAs = (text: string, pattern: string): boolean => pattern.startsWith("*") && text.endsWith(pattern.slice(1));
