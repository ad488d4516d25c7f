/** Where CAs are kept, and who is connected, in; the mesh's own authority, who got what of it, and the rotation of its root out. */
import type { X509Certificate } from "node:crypto";
import {
  auditIssuance,
  type CertificateAuthority,
  createCertificateAuthority,
  createIssuances,
  type Issuances,
  isUnderWay,
  type Rotation,
} from "../../ca/index.ts";
import type { KubeClient } from "../../kube/index.ts";
import { dropOldest, FairleadError } from "../../lib/index.ts";
import { formatIdentity } from "../../model/index.ts";
import { createCsr, formatPrivateKey, generateKey } from "../../pki/index.ts";
import type { TypeFollower } from "../../xds/index.ts";
import { politely } from "../politely.ts";
import type { FurtherRoots } from "./further-roots.ts";
import { followTrust, type MeshTrust, rotationName } from "./mesh-trust.ts";
import { createRevokedForProxies } from "./revoked-for-proxies.ts";
import { defaultPace, runRotationDriver } from "./rotation-driver.ts";
import { reportOf } from "./rotation-progress.ts";
import { type RotationReport, reportsIn, writeReport } from "./rotation-reports.ts";
import { type TrustHolder, type TrustHoldersOptions, trustHolderSteps } from "./trust-holders.ts";
import type { TrustOptions } from "./trust-options.ts";
import { createWantedCa, type WantedCa } from "./wanted-ca.ts";

export interface OwnCa {
  readonly authority: CertificateAuthority;
  readonly issuances: Issuances;
  readonly wanted: WantedCa;
  readonly mesh: MeshTrust;
  /** All that lies between its certificates and a root, of those too that it signed before the last change. */
  intermediates(): readonly X509Certificate[];
  /** Lists of revoked certificates that proxies can be given, PEM; empty for none. */
  revoked(): string;
  /** From now on it is known who is connected, and when they were last told of roots; called once. */
  follow(proxies: () => Iterable<TypeFollower>, toldAt: () => Date): void;
  holders(): readonly TrustHolder[];
  /** A key with a certificate for the control plane itself, as a client of its other replicas. */
  ownCredentials(serviceAccount: string, lifeMs: number): Promise<{ readonly cert: string; readonly key: string }>;
  /** Moves rotations on while the signal holds: only where this control plane leads. */
  drive(lead: { readonly client: KubeClient; readonly signal: AbortSignal; replicas(): number }): void;
}

const reportMs = 1000;

export async function createOwnCa(options: TrustOptions, further: FurtherRoots): Promise<OwnCa> {
  const { now, namespace, configMaps, log, signal } = options;
  const wanted = await createWantedCa({ ...options, organization: options.trustDomain() });
  const authority = createCertificateAuthority({
    ...{ bundle: wanted.current().bundle, now, furtherRoots: further.current },
    ...options.certificates,
  });
  const noted = noteIntermediates(authority);
  // Where another CA vouches for the control plane itself, its root is what was told, and says nothing of ours.
  const told = configMaps.get(`${namespace}/istio-ca-root-cert`);
  const distributed = options.servingFiles ? undefined : told;
  const mesh = followTrust({ ...options, authority, wanted, distributed });
  const issuances = createIssuances();
  let followed: Pick<TrustHoldersOptions, "proxies" | "changedAt"> = {
    proxies: () => [],
    changedAt: () => new Date(0),
  };
  const holderSteps = (): Generator<undefined, readonly TrustHolder[]> =>
    trustHolderSteps({ authority, issuances, ...followed });

  const others = (): readonly RotationReport[] =>
    [...reportsIn(configMaps.get(`${namespace}/${rotationName}`), now())].flatMap(([replica, report]) =>
      replica === options.identity ? [] : [report],
    );
  const own = (rotation: Rotation, holders: readonly TrustHolder[]): RotationReport =>
    reportOf({ rotation, holders, issuances, authority, others: others(), now: now() });
  const report = async (): Promise<void> => {
    if (!isUnderWay(mesh.rotation())) return;
    const holders = await politely(holderSteps());
    const rotation = mesh.rotation();
    if (!isUnderWay(rotation)) return;
    const place = { namespace, replica: options.identity };
    await writeReport(options.client, configMaps, place, own(rotation, holders), signal);
  };
  return {
    authority,
    issuances,
    wanted,
    mesh,
    intermediates() {
      const rotation = mesh.rotation();
      const from = isUnderWay(rotation) ? rotation.from.signer?.chain : undefined;
      return [...wanted.current().bundle.chain, ...(from ?? []), ...noted.values()];
    },
    revoked: createRevokedForProxies({ wanted, authority, now, log }),
    follow(proxies, toldAt) {
      followed = { proxies, changedAt: toldAt };
      repeat(
        report,
        (error) => log.debug(`no report on the root rotation: ${FairleadError.from(error).message}`),
        signal,
      );
    },
    holders: () => finish(holderSteps()),
    async ownCredentials(serviceAccount, lifeMs) {
      const key = await generateKey();
      const identity = { trustDomain: options.trustDomain(), namespace, serviceAccount };
      const { certificate, chain } = authority.sign(createCsr({ key }), identity, lifeMs);
      auditIssuance(log, { identity: formatIdentity(identity), certificate, client: "self" });
      return { cert: chain.join("\n"), key: formatPrivateKey(key.privateKey) };
    },
    drive: (lead) =>
      runRotationDriver({
        ...options,
        ...lead,
        trust: mesh,
        wanted,
        organization: options.trustDomain,
        async look() {
          const holders = await politely(holderSteps());
          return (rotation) => [own(rotation, holders), ...others()];
        },
        pace: { ...defaultPace, ...options.pace },
      }),
  };
}

/** More changes than there are within a life of certificates. */
const maxIntermediates = 32;

function noteIntermediates(authority: CertificateAuthority): ReadonlyMap<string, X509Certificate> {
  const noted = new Map<string, X509Certificate>();
  const note = (): void => {
    for (const one of authority.bundle().chain) noted.set(one.fingerprint256, one);
    dropOldest(noted, maxIntermediates);
  };
  authority.onReplaced(note);
  note();
  return noted;
}

function finish<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
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
