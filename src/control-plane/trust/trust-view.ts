/** The trust of a mesh in; what `/debug/ca`, `fairlead ca status` and the page show of it, without any key, out. */
import type { X509Certificate } from "node:crypto";
import { lazyFields, lazyList } from "../../lib/index.ts";
import { formatIdentity } from "../../model/index.ts";
import type { DebugView } from "../../ops/index.ts";
import { parseCertificates } from "../../pki/index.ts";
import type { CertificateFacts, Identities } from "../../read-api/index.ts";
import type { Trust } from "./trust.ts";

export function createTrustView(trust: Trust): DebugView {
  return {
    help: "the CA, its roots, a root rotation that is under way, and which proxies believe what",
    answer() {
      const { proxies, issued, ...facts } = trustFacts(trust);
      // There are as many as proxies and certificates.
      return lazyFields([...Object.entries(facts), ["proxies", lazyList(proxies)], ["issued", lazyList(issued)]]);
    },
  };
}

export function trustFacts(trust: Trust): Identities {
  if (!trust.own)
    return {
      source: "another CA",
      roots: parseCertificates(trust.serving.roots()).map(describe),
      proxies: [],
      issued: [],
    };
  const { authority, issuances, mesh, wanted, holders } = trust.own;
  const { certificate, roots } = authority.bundle();
  const signers = new Map([certificate, ...roots].map((one) => [one.fingerprint256, nameOf(one)]));
  const rotation = mesh.rotation();
  return {
    source: wanted.current().source,
    ...(wanted.problem() === "" ? {} : { refused: wanted.problem() }),
    signer: describe(certificate),
    roots: roots.map(describe),
    ...(rotation
      ? {
          rotation: {
            ...{ id: rotation.id, phase: rotation.phase },
            ...{ startedAt: rotation.startedAt.toISOString(), since: rotation.since.toISOString() },
            ...{ rollback: rotation.isRollback, ignored: rotation.ignored },
          },
        }
      : {}),
    proxies: holders().map((holder) => ({
      proxy: holder.proxy,
      told: holder.isTold ? "over xDS" : "with certificates",
      believesAll: holder.believesAll,
      signedBy: holder.signer === undefined ? "unknown" : (signers.get(holder.signer) ?? "another signer"),
      isReissued: holder.isReissued,
      ...(holder.certificate
        ? { serial: holder.certificate.serial, until: holder.certificate.until.toISOString() }
        : {}),
    })),
    issued: issuances.latest().map(({ identity, pod, address, serial, until }) => ({
      identity: formatIdentity(identity),
      namespace: identity.namespace,
      ...{ pod: pod ?? "", address, serial, until: until.toISOString() },
    })),
  };
}

function describe(certificate: X509Certificate): CertificateFacts {
  return {
    name: nameOf(certificate),
    subject: certificate.subject.replaceAll("\n", ", "),
    serial: certificate.serialNumber,
    fingerprint: certificate.fingerprint256,
    until: certificate.validToDate.toISOString(),
  };
}

/** Short, and never the same for two roots of one organization. */
function nameOf(certificate: X509Certificate): string {
  return certificate.fingerprint256.replaceAll(":", "").slice(0, 12).toLowerCase();
}
