/**
 * Lists of revoked certificates of the CA in; what of them proxies can be given out: all or nothing. An Envoy that has any
 * list refuses every certificate below a CA that it has no list in force of, so lists that leave one out would end the
 * mesh. They hold here all the same.
 */
import type { CertificateAuthority } from "../../ca/index.ts";
import type { Logger } from "../../lib/index.ts";
import type { WantedCa } from "./wanted-ca.ts";

export interface RevokedForProxiesOptions {
  readonly wanted: WantedCa;
  readonly authority: CertificateAuthority;
  readonly now: () => Date;
  readonly log: Logger;
}

export function createRevokedForProxies(options: RevokedForProxiesOptions): () => string {
  const { wanted, authority, now, log } = options;
  let told = "";
  return () => {
    const { crl, revoked, source } = wanted.current();
    if (crl === "") return "";
    const { chain, roots } = authority.bundle();
    const names = revoked.without([...chain, ...roots], now()).map((ca) => ca.subject.replaceAll("\n", ", "));
    if (names.length === 0) return crl;
    const line = `${source}: ca-crl.pem has no list in force, by a CA that may sign lists, of ${names.join("; ")}`;
    if (told !== line) log.warn(`${line}; proxies are not given it, for they would refuse all certificates below`);
    told = line;
    return "";
  };
}
