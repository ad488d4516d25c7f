/**
 * The CA that is wanted and the rotation that is under way in; the authority that signs by both out. Each replica follows
 * the same Secret, and only the leader moves it on. A CA under roots that all believe already is taken at once.
 */
import {
  type CertificateAuthority,
  type FormerCa,
  firstPhase,
  isUnderWay,
  parseRotation,
  type Rotation,
  type RotationFacts,
  type SigningBundle,
  servingSignerOf,
  signerOf,
} from "../../ca/index.ts";
import type { Collection } from "../../collections/index.ts";
import { FairleadError, isRecord, type Logger, readText } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { parseCertificates } from "../../pki/index.ts";
import { decodeSecret } from "./secret-data.ts";
import type { WantedCa } from "./wanted-ca.ts";

export const rotationName = "fairlead-root-rotation";

/** A change of the root that has to go through its steps. */
export interface PendingChange {
  readonly from: FormerCa;
  readonly to: SigningBundle;
}

export interface MeshTrust {
  /** The newest one; without its CAs where it is over. */
  rotation(): Rotation | RotationFacts | undefined;
  /** What nobody has begun yet. */
  pending(): PendingChange | undefined;
  /** How often proxies were asked to come for new certificates, in this rotation. */
  epoch(): number;
  /** Calls back after anything of this, or of what the authority signs with, has changed. */
  onChange(listener: () => void): void;
}

export interface MeshTrustOptions {
  readonly authority: CertificateAuthority;
  readonly wanted: WantedCa;
  readonly secrets: Collection<KubeObject>;
  /** ConfigMap `istio-ca-root-cert` of the control plane's namespace: what the mesh believed when it was last told. */
  readonly distributed: KubeObject | undefined;
  readonly namespace: string;
  readonly now: () => Date;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export function followTrust(options: MeshTrustOptions): MeshTrust {
  const { authority, wanted, secrets, now, log } = options;
  const key = `${options.namespace}/${rotationName}`;
  let rotation: Rotation | RotationFacts | undefined;
  let former = formerOf(options.distributed, wanted.current().bundle);
  let pending: PendingChange | undefined;
  let used = "";

  const use = (signer: SigningBundle, serving: SigningBundle): void => {
    const id = [signer.certificate, serving.certificate, ...signer.roots].map((one) => one.fingerprint256).join();
    if (id === used) return;
    used = id;
    authority.replaceBundle(signer, serving);
  };
  const listeners = new Set<() => void>();
  const decide = (): void => {
    rotation = readRotation(secrets.get(key), rotation, now(), log);
    pending = undefined;
    if (isUnderWay(rotation)) {
      former = { roots: rotation.to.roots, signer: rotation.to };
      use(signerOf(rotation), servingSignerOf(rotation));
      return;
    }
    const to = wanted.current().bundle;
    if (firstPhase(former, to, now()) === undefined) {
      former = { roots: to.roots, signer: to };
      use(to, to);
      return;
    }
    pending = { from: former, to };
    const signer = former.signer ?? to;
    const roots = former.signer ? former.roots : [...former.roots, ...to.roots];
    use({ ...signer, roots }, signer);
  };
  const update = (): void => {
    decide();
    for (const listener of listeners) listener();
  };
  const stops = [wanted.subscribe(update), secrets.subscribe((changed) => void (changed === key && update()))];
  options.signal.addEventListener("abort", () => stops.forEach((stop) => void stop()), { once: true });
  update();
  return {
    rotation: () => rotation,
    pending: () => pending,
    epoch: () => (isUnderWay(rotation) ? rotation.epoch : 0),
    onChange: (listener) => void listeners.add(listener),
  };
}

/** Roots that proxies were told and the CA no longer has were replaced while no control plane was there to see it. */
function formerOf(distributed: KubeObject | undefined, bundle: SigningBundle): FormerCa {
  const data = isRecord(distributed?.data) ? distributed.data : {};
  const text = readText(data["root-cert.pem"]);
  const told = text === "" ? [] : readRoots(text);
  const isKnown = told.every((root) => bundle.roots.some((own) => own.raw.equals(root.raw)));
  return isKnown ? { roots: bundle.roots, signer: bundle } : { roots: told, signer: undefined };
}

function readRoots(text: string): FormerCa["roots"] {
  try {
    return parseCertificates(text);
  } catch {
    // Whatever somebody else wrote there, nobody believes it.
    return [];
  }
}

/** A state that cannot be read is no reason to lose the one that was. */
function readRotation(
  secret: KubeObject | undefined,
  last: Rotation | RotationFacts | undefined,
  now: Date,
  log: Logger,
): Rotation | RotationFacts | undefined {
  const data = decodeSecret(secret);
  if (data["state"] === undefined) return undefined;
  try {
    return parseRotation(data, now);
  } catch (error) {
    log.error(`Secret ${rotationName}: ${FairleadError.from(error).message}`);
    return last;
  }
}
