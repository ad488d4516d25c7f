/**
 * Who signs in this mesh in; what the rest of the control plane needs of it out: the signer of workloads' certificates, its
 * own certificate, whose certificates count, and the roots that agents are told.
 */
import type { X509Certificate } from "node:crypto";
import { type AcceptsPeer, allRoots, bundleTexts, createOwnSigner, type WorkloadSigner } from "../../ca/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { chainsTo, formatBundle, parseCertificates, shownWith } from "../../pki/index.ts";
import type { ResourceSource, TypeFollower } from "../../xds/index.ts";
import { createExternalCa, type ExternalCa } from "./external-ca.ts";
import { type FurtherRoots, followFurtherRoots } from "./further-roots.ts";
import { createOwnCa, type OwnCa } from "./own-ca.ts";
import { auditedServing, type Serving, servingOfAuthority, servingOfFiles } from "./serving.ts";
import { createTrustBundleSource } from "./trust-bundle-source.ts";
import type { TrustOptions } from "./trust-options.ts";

export interface Trust {
  /** Undefined where the CA is somebody else's. */
  readonly own: OwnCa | undefined;
  /** Undefined where agents ask another for certificates. */
  readonly signer: WorkloadSigner | undefined;
  readonly serving: Serving;
  /** Whom clients' certificates must lead to, PEM. */
  clientRoots(): string;
  /** Whether a verified certificate is one to go by. A root may be shared by meshes, whose accounts are not ours. */
  readonly acceptsPeer: AcceptsPeer;
  /** The source that agents are told roots by; called once. */
  tellRoots(source: ResourceSource): ResourceSource;
  /** From now on it is known who is connected; called once. */
  follow(proxies: () => Iterable<TypeFollower>): void;
}

export async function createTrust(options: TrustOptions): Promise<Trust> {
  const { now, signal } = options;
  const further = followFurtherRoots({ ...options, settings: options.settings.current, client: options.http });
  // After whatever else follows the same change.
  const stopSettings = options.configMaps.subscribe(
    (key) => void (key === options.meshConfigMap && setImmediate(further.refresh)),
  );
  signal.addEventListener("abort", stopSettings, { once: true });
  const external = options.external && createExternalCa({ ...options, ...options.external, further });
  const own = options.hasOwnCa ? await createOwnCa(options, further) : undefined;
  const serving = servingFor(options, own, external, further);
  const ownRoots = (): readonly X509Certificate[] =>
    own ? own.authority.bundle().roots : parseCertificates(serving.roots());
  const signers = (): readonly X509Certificate[] => allRoots(external?.roots() ?? [], ownRoots());
  const begun = now();
  let changedAt = (): Date => begun;
  return {
    own,
    signer: external?.signer ?? (own && createOwnSigner(own.authority, own.issuances)),
    serving,
    clientRoots: () => formatBundle(signers()),
    acceptsPeer({ trustDomain }, certificate) {
      const ours = [options.trustDomain(), ...(options.settings.current().trustDomainAliases ?? [])];
      return ours.includes(trustDomain) && (!own || isUnrevoked(certificate, own, signers(), now()));
    },
    tellRoots(source) {
      const texts = (): readonly string[] =>
        bundleTexts(allRoots(signers(), further.current()), own?.mesh.epoch() ?? 0);
      const told = createTrustBundleSource(source, { texts, now });
      changedAt = told.changedAt;
      own?.mesh.onChange(told.refresh);
      serving.onReplaced(told.refresh);
      further.onChange(told.refresh);
      return told;
    },
    follow: (proxies) => own?.follow(proxies, () => changedAt()),
  };
}

/**
 * Whether it leads to a root by way of certificates that nobody has revoked. Where something is revoked, what lies between
 * has to be seen: it is the CA's own, or shown by the peer, which Node 24.21 does not tell servers of.
 */
function isUnrevoked(
  certificate: X509Certificate,
  { wanted, intermediates }: Pick<OwnCa, "wanted" | "intermediates">,
  roots: readonly X509Certificate[],
  now: Date,
): boolean {
  const { revoked } = wanted.current();
  if (revoked.size === 0) return true;
  const isGood = (one: X509Certificate): boolean => !revoked.has(one);
  const between = [...intermediates(), ...shownWith(certificate)];
  return isGood(certificate) && chainsTo(certificate, between.filter(isGood), roots.filter(isGood), now);
}

function servingFor(
  options: TrustOptions,
  own: OwnCa | undefined,
  external: ExternalCa | undefined,
  further: FurtherRoots,
): Serving {
  const { servingFiles, log, signal } = options;
  if (servingFiles) return servingOfFiles(servingFiles, log, signal);
  const issued = own ? servingOfAuthority(own.authority) : external?.serving;
  const serving = issued && auditedServing(issued, log);
  if (serving && external) return withNews(serving, further);
  if (serving) return serving;
  throw new FairleadError("usage", "ENABLE_CA_SERVER=false leaves nobody who signs for the control plane itself", {
    hint: "mount its certificate at /var/run/secrets/istiod/tls and its root at /var/run/secrets/istiod/ca",
  });
}

/** The TLS ports are set up anew with each certificate, and then believe the roots of signers that MeshConfig has by now. */
function withNews(serving: Serving, further: FurtherRoots): Serving {
  const listeners = new Set<() => void>();
  further.onChange(() => listeners.forEach((listener) => void listener()));
  return {
    ...serving,
    onReplaced(listener) {
      listeners.add(listener);
      const stop = serving.onReplaced(listener);
      return () => {
        listeners.delete(listener);
        stop();
      };
    },
  };
}
