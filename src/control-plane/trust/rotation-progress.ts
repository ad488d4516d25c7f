/** A rotation and what control planes report in; whom its step still waits for out. */
import type { CertificateAuthority, Holder, Issuances, Rotation } from "../../ca/index.ts";
import { rootsId } from "../../ca/index.ts";
import { formatHolder, maxNamed, parseHolder, type RotationReport } from "./rotation-reports.ts";
import { isIgnored, isWaitedFor, type TrustHolder } from "./trust-holders.ts";

export interface ProgressInputs {
  readonly rotation: Rotation;
  readonly holders: readonly TrustHolder[];
  readonly issuances: Issuances;
  readonly authority: Pick<CertificateAuthority, "bundle">;
  readonly others: Iterable<RotationReport>;
  readonly now: Date;
}

export function stepOf({ id, phase, epoch }: Pick<Rotation, "id" | "phase" | "epoch">): string {
  return `${id} ${phase} ${epoch}`;
}

/** What this control plane has to say. */
export function reportOf(inputs: ProgressInputs): RotationReport {
  const { rotation, holders, now } = inputs;
  const step = stepOf(rotation);
  const ignored = new Set(rotation.ignored);
  const waiting = holders.filter(
    (holder) => isWaitedFor(holder) && !isIgnored(holder, ignored) && !isDone(rotation, holder),
  );
  const named = waiting.flatMap(({ holder }) => (holder ? [formatHolder(holder)] : [])).slice(0, maxNamed);
  const asked = [...inputs.others].flatMap((other) => (other.step === step ? other.waiting : []));
  const done = asked.filter((text) => isKnownDone(inputs, parseHolder(text)));
  return { step, at: now, waiting: named, count: waiting.length, done };
}

/**
 * How many proxies of all control planes are still waited for; undefined while one of these, of which there are so many, has
 * not come to the step: nobody knows what its proxies believe.
 */
export function leftOf(rotation: Rotation, reports: readonly RotationReport[], replicas: number): number | undefined {
  return notHere(rotation, reports, replicas) > 0 ? undefined : waitingIn(reports).count;
}

/** How many control planes have not come to the step. */
export function notHere(rotation: Rotation, reports: readonly RotationReport[], replicas: number): number {
  const step = stepOf(rotation);
  const here = reports.filter((report) => report.step === step).length;
  return Math.max(reports.length, replicas) - here;
}

/** Whom control planes at the same step wait for: how many, and the names of some. */
export function waitingIn(reports: readonly RotationReport[]): {
  readonly count: number;
  readonly names: readonly string[];
} {
  const done = new Set(reports.flatMap((report) => report.done));
  const named = reports.flatMap((report) => report.waiting);
  const names = named.filter((name) => !done.has(name));
  return { count: reports.reduce((sum, { count }) => sum + count, 0) - (named.length - names.length), names };
}

function isDone({ phase }: Rotation, holder: TrustHolder): boolean {
  if (phase === "trust") return holder.believesAll;
  if (phase === "reissue") return holder.isReissued;
  return true;
}

/** Of a proxy that has its stream with another control plane only its certificate can be known. */
function isKnownDone({ rotation, issuances, authority }: ProgressInputs, holder: Holder | undefined): boolean {
  const issued = holder && issuances.of(holder);
  if (!issued) return false;
  const { certificate, roots } = authority.bundle();
  return rotation.phase === "trust" ? issued.roots === rootsId(roots) : issued.signer === certificate.fingerprint256;
}
