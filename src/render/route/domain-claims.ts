/** The virtual hosts of one configuration in, one after the other; the domains that each may have out. */

export interface WantedNames {
  /** Of the virtual host. */
  readonly name: string;
  readonly names: readonly string[];
  /** The names in lower case. */
  readonly keys: readonly string[];
  readonly variants: ReadonlySet<string>;
}

export interface DomainClaims {
  /** The names themselves where all may be had; empty where nothing is left, or the virtual host's name is taken. */
  claim(wanted: WantedNames): readonly string[];
  /** Whether a domain, in lower case, was asked for. */
  isWanted(domain: string): boolean;
}

/**
 * Envoy refuses a configuration in which a name or a domain is there twice: the first one has it. A variant of a host's
 * name never takes the place of a host that is really called so (`reserved`), even if that one comes later.
 */
export function createDomainClaims(reserved: ReadonlySet<string>): DomainClaims {
  const hosts = new Set<string>();
  // The catch-all virtual host always has this one.
  const taken = new Set<string>(["*"]);
  const refused = new Set<string>();
  return {
    claim({ name, names, keys, variants }) {
      if (hosts.has(name)) {
        for (const key of keys) refused.add(key);
        return [];
      }
      hosts.add(name);
      const free = names.filter((domain, i) => {
        const key = keys[i] ?? "";
        if (taken.has(key) || (variants.has(domain) && reserved.has(domain))) {
          refused.add(key);
          return false;
        }
        taken.add(key);
        return true;
      });
      return free.length === names.length ? names : free;
    },
    isWanted: (domain) => refused.has(domain) || (domain !== "*" && taken.has(domain)),
  };
}
