/** The virtual hosts of one configuration in, one after the other; the domains that each may have out. */

export interface DomainClaims {
  /** Empty where nothing is left, or the name is taken. */
  claim(name: string, wanted: readonly string[], variants: ReadonlySet<string>): readonly string[];
}

/**
 * Envoy refuses a configuration in which a name or a domain is there twice: the first one has it. A variant of a host's
 * name never takes the place of a host that is really called so (`known`), even if that one comes later.
 */
export function createDomainClaims(known: readonly string[]): DomainClaims {
  const names = new Set<string>();
  // The catch-all virtual host always has this one.
  const taken = new Set<string>(["*"]);
  const hosts = new Set(known);
  return {
    claim(name, wanted, variants) {
      if (names.has(name)) return [];
      names.add(name);
      return wanted.filter((domain) => {
        const key = domain.toLowerCase();
        if (taken.has(key) || (variants.has(domain) && hosts.has(domain))) return false;
        taken.add(key);
        return true;
      });
    },
  };
}
