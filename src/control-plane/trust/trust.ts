/** Where CAs are kept, and who is connected, in; the authority that signs, the roots that agents are told, and their rotation out. */
import {
  type AcceptsPeer,
  allRoots,
  bundleTexts,
  type CertificateAuthority,
  createCertificateAuthority,
  createIssuances,
  type Issuances,
  isUnderWay,
  type Rotation,
} from "../../ca/index.ts";
import type { Collection } from "../../collections/index.ts";
import type { HttpClient } from "../../fetch/index.ts";
import type { EventRecorder, KubeClient } from "../../kube/index.ts";
import { FairleadError, type Logger } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import type { ProxyStatus, ResourceSource } from "../../xds/index.ts";
import type { Settings } from "../settings.ts";
import { followFurtherRoots } from "./further-roots.ts";
import { followTrust, type MeshTrust, rotationName } from "./mesh-trust.ts";
import { createRevokedForProxies } from "./revoked-for-proxies.ts";
import { defaultPace, type RotationPace, runRotationDriver } from "./rotation-driver.ts";
import { reportOf } from "./rotation-progress.ts";
import { type RotationReport, reportsIn, writeReport } from "./rotation-reports.ts";
import { createTrustBundleSource } from "./trust-bundle-source.ts";
import { createTrustHolders, type TrustHolder } from "./trust-holders.ts";
import { type CaFolder, createWantedCa, type WantedCa } from "./wanted-ca.ts";

export interface TrustOptions {
  readonly client: KubeClient;
  readonly secrets: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
  readonly namespace: string;
  /** Unique among control planes. */
  readonly identity: string;
  readonly folder: CaFolder | undefined;
  readonly readsRevocations: boolean;
  readonly certificates: { readonly defaultTtlMs: number; readonly maxTtlMs: number } | undefined;
  readonly pace: Partial<RotationPace> | undefined;
  trustDomain(): string;
  readonly settings: Pick<Settings, "current">;
  /** Name and namespace of MeshConfig's ConfigMap. */
  readonly meshConfigMap: string;
  /** For SPIFFE bundles. */
  readonly http: HttpClient;
  readonly recorder: EventRecorder;
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface Trust {
  readonly authority: CertificateAuthority;
  readonly issuances: Issuances;
  /** Whether a verified certificate is one to go by. A root may be shared by meshes, whose accounts are not ours. */
  readonly acceptsPeer: AcceptsPeer;
  readonly wanted: WantedCa;
  /** Lists of revoked certificates that proxies can be given, PEM; empty for none. */
  revoked(): string;
  readonly mesh: MeshTrust;
  /** The source that agents are told roots by; called once. */
  tellRoots(source: ResourceSource): ResourceSource;
  /** From now on it is known who is connected; called once. */
  follow(proxies: () => readonly ProxyStatus[]): void;
  holders(): readonly TrustHolder[];
  /** Moves rotations on while the signal holds: only where this control plane leads. */
  drive(lead: { readonly client: KubeClient; readonly signal: AbortSignal }): void;
}

const reportMs = 1000;

export async function createTrust(options: TrustOptions): Promise<Trust> {
  const { now, namespace, configMaps, log, signal } = options;
  const wanted = await createWantedCa({ ...options, organization: options.trustDomain() });
  const further = followFurtherRoots({ ...options, settings: options.settings.current, client: options.http });
  // After whatever else follows the same change.
  const stopSettings = configMaps.subscribe(
    (key) => void (key === options.meshConfigMap && setImmediate(further.refresh)),
  );
  signal.addEventListener("abort", stopSettings, { once: true });
  const authority = createCertificateAuthority({
    ...{ bundle: wanted.current().bundle, now, furtherRoots: further.current },
    ...options.certificates,
  });
  const distributed = configMaps.get(`${namespace}/istio-ca-root-cert`);
  const mesh = followTrust({ ...options, authority, wanted, distributed });
  const issuances = createIssuances();
  let holders: () => readonly TrustHolder[] = () => [];
  let changedAt = now;

  const others = (): readonly RotationReport[] =>
    [...reportsIn(configMaps.get(`${namespace}/${rotationName}`), now())].flatMap(([replica, report]) =>
      replica === options.identity ? [] : [report],
    );
  const own = (rotation: Rotation): RotationReport =>
    reportOf({ rotation, holders: holders(), issuances, authority, others: others(), now: now() });
  const report = async (): Promise<void> => {
    const rotation = mesh.rotation();
    if (!isUnderWay(rotation)) return;
    const place = { namespace, replica: options.identity };
    await writeReport(options.client, configMaps, place, own(rotation), signal);
  };
  return {
    authority,
    issuances,
    acceptsPeer({ trustDomain }, certificate) {
      const isOurs = [options.trustDomain(), ...(options.settings.current().trustDomainAliases ?? [])];
      return isOurs.includes(trustDomain) && !wanted.current().revoked.has(certificate);
    },
    wanted,
    revoked: createRevokedForProxies({ wanted, authority, now, log }),
    mesh,
    tellRoots(source) {
      const texts = (): readonly string[] =>
        bundleTexts(allRoots(authority.bundle().roots, further.current()), mesh.epoch());
      const told = createTrustBundleSource(source, { texts, now });
      changedAt = told.changedAt;
      mesh.onChange(told.refresh);
      further.onChange(told.refresh);
      return told;
    },
    follow(proxies) {
      holders = createTrustHolders({ authority, issuances, proxies, changedAt: () => changedAt() });
      repeat(
        report,
        (error) => log.debug(`no report on the root rotation: ${FairleadError.from(error).message}`),
        signal,
      );
    },
    holders: () => holders(),
    drive: (lead) =>
      runRotationDriver({
        ...options,
        ...lead,
        trust: mesh,
        wanted,
        organization: options.trustDomain,
        reports: (rotation) => [own(rotation), ...others()],
        pace: { ...defaultPace, ...options.pace },
      }),
  };
}

/** One at a time, until the signal. */
function repeat(work: () => Promise<void>, failed: (error: unknown) => void, signal: AbortSignal): void {
  let busy = false;
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    work()
      .catch(failed)
      .finally(() => {
        busy = false;
      });
  }, reportMs).unref();
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}
