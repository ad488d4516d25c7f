/** The domains of a virtual host in; the few that tell it apart out. */

const shown = 2;

export function describeDomains(domains: readonly string[]): string {
  const [only] = domains;
  if (domains.length === 1 && only !== undefined) return only;
  const hosts = withoutLongForms(domains.filter((domain) => !hasPort(domain)));
  if (hosts.length <= shown) return hosts.join(", ");
  return `${hosts.slice(0, shown).join(", ")} + ${hosts.length - shown} more...`;
}

function hasPort(domain: string): boolean {
  const colons = domain.split(":").length - 1;
  // An IPv6 address has more colons than that, and ends in its bracket where no port follows.
  return colons > 2 ? !domain.endsWith("]") : colons > 0;
}

/** `web.shop` says all that `web.shop.svc` and `web.shop.svc.cluster.local` say. */
function withoutLongForms(domains: readonly string[]): readonly string[] {
  const all = new Set(domains);
  return domains.filter(
    (domain) =>
      ![".svc.cluster.local", ".svc"].some(
        (suffix) => domain.endsWith(suffix) && all.has(domain.slice(0, -suffix.length)),
      ),
  );
}
