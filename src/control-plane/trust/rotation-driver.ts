/**
 * What users ask for, changed CAs, and reports of who has what in; a root rotation that goes on step by step out. Every
 * step is in the API before it holds anywhere, so whoever leads next goes on from there. Only the leader runs this.
 */
import { randomUUID } from "node:crypto";
import {
  createSelfSignedBundle,
  firstPhase,
  isUnderWay,
  nextPhase,
  type Rotation,
  rollBack,
  type SigningBundle,
} from "../../ca/index.ts";
import type { Collection } from "../../collections/index.ts";
import type { KubeClient } from "../../kube/index.ts";
import { FairleadError, type Logger } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { replaceCaSecret } from "./ca-secret.ts";
import { type MeshTrust, rotationName } from "./mesh-trust.ts";
import { leftOf, notHere } from "./rotation-progress.ts";
import type { RotationReport } from "./rotation-reports.ts";
import { openRequest, type RotationRequest, writeRotation } from "./rotation-store.ts";
import type { WantedCa } from "./wanted-ca.ts";

export interface RotationPace {
  /** A step lasts no shorter, so that all control planes have come to it and Envoys have what their agents accepted. */
  readonly stepMs: number;
  /** Whoever begins to lead waits so long: proxies may be on their way to it from a control plane that died. */
  readonly reconnectMs: number;
  /** How long files made of ConfigMap `istio-ca-root-cert` may lag behind it. */
  readonly fileLagMs: number;
}

export const defaultPace: RotationPace = { stepMs: 3_000, reconnectMs: 15_000, fileLagMs: 120_000 };

export interface RotationDriverOptions {
  readonly client: KubeClient;
  readonly trust: MeshTrust;
  readonly wanted: WantedCa;
  readonly secrets: Collection<KubeObject>;
  readonly namespace: string;
  /** For a root that is made. */
  organization(): string;
  /** Looks at all proxies, which may be very many, and only then at the rotation that they are asked about. */
  look(): Promise<Reports>;
  /** How many control planes are ready for proxies; one that does not report has some all the same. */
  replicas(): number;
  readonly pace: RotationPace;
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Of all control planes that live, this one's among them. */
type Reports = (rotation: Rotation) => readonly RotationReport[];

/** After so many times the shortest step it is told that a control plane is behind. */
const slowSteps = 5;
/** How often it is looked whether all have followed. */
const tickMs = 500;

export function runRotationDriver(options: RotationDriverOptions): void {
  const { signal, log } = options;
  const driver = createDriver(options);
  let busy = false;
  let told = "";
  const tick = async (): Promise<void> => {
    if (busy || signal.aborted) return;
    busy = true;
    try {
      await driver.step();
      told = "";
    } catch (error) {
      const { code, message } = FairleadError.from(error);
      // Somebody else wrote first: the watch tells what holds now.
      if (code !== "conflict" && message !== told && !signal.aborted) log.warn(`the root rotation waits: ${message}`);
      told = message;
    } finally {
      busy = false;
    }
  };
  const timer = setInterval(() => void tick(), Math.min(tickMs, options.pace.stepMs));
  signal.addEventListener("abort", () => clearInterval(timer), { once: true });
}

function createDriver(options: RotationDriverOptions): { step(): Promise<void> } {
  const { client, trust, wanted, namespace, signal, now, log, pace } = options;
  const ledSince = options.monotonicMs();
  let taken = "";

  const write = async (rotation: Rotation | undefined, request?: RotationRequest, refused = ""): Promise<void> => {
    const found = options.secrets.get(`${namespace}/${rotationName}`);
    const answer = request && { id: request.id, refused };
    await writeRotation(client, namespace, found, { rotation, answer }, signal);
    if (rotation)
      log.info(`root rotation ${rotation.id}: ${rotation.phase}${rotation.isRollback ? " (rollback)" : ""}`);
    if (refused !== "") log.warn(`a request for the root rotation was refused: ${refused}`);
  };

  /** New certificates that were issued by whoever led before are not known here: all are asked to come once more. */
  const takeUp = async (rotation: Rotation): Promise<boolean> => {
    if (taken === rotation.id) return false;
    taken = rotation.id;
    if (rotation.phase !== "reissue") return false;
    await write({ ...rotation, epoch: rotation.epoch + 1 });
    return true;
  };

  const goOn = async (rotation: Rotation, reportsOn: Reports): Promise<void> => {
    if (await takeUp(rotation)) return;
    if (isWantedAgain(rotation, wanted)) {
      const back = rollBack(rotation, now());
      if (back) return write(back);
    }
    const inStepMs = now().getTime() - rotation.since.getTime();
    const lagMs = rotation.phase === "reissue" ? pace.fileLagMs - (now().getTime() - rotation.startedAt.getTime()) : 0;
    if (inStepMs < pace.stepMs || lagMs > 0 || options.monotonicMs() - ledSince < pace.reconnectMs) return;
    const [reports, replicas] = [reportsOn(rotation), options.replicas()];
    const behind = notHere(rotation, reports, replicas);
    if (behind > 0 && inStepMs > slowSteps * pace.stepMs)
      throw new FairleadError(
        "unavailable",
        `${behind} of ${Math.max(reports.length, replicas)} control planes are behind`,
      );
    if (leftOf(rotation, reports, replicas) !== 0) return;
    const next = nextPhase(rotation, now());
    if (next.phase === "done" && wanted.current().isOwn) await replaceCaSecret(client, namespace, rotation.to, signal);
    await write(next);
  };

  const begin = (from: Rotation["from"], to: SigningBundle, origin: Rotation["origin"]): Rotation => {
    const id = randomUUID().slice(0, 8);
    // One that begins here has asked everybody already.
    taken = id;
    const phase = firstPhase(from, to, now()) ?? "settle";
    return {
      ...{ id, phase, from, to, origin, epoch: 0, isRollback: false, ignored: [] },
      startedAt: now(),
      since: now(),
    };
  };

  const answer = async (request: RotationRequest, rotation: Rotation | undefined): Promise<void> => {
    const { bundle, isOwn, source } = wanted.current();
    if (request.action === "start") {
      if (rotation) return write(undefined, request, "a root rotation is under way already");
      if (!isOwn) return write(undefined, request, `the CA comes from ${source}: replace it there, the steps follow`);
      const to = await createSelfSignedBundle({ organization: options.organization(), now: now() });
      return write(begin({ roots: bundle.roots, signer: bundle }, to, "command"), request);
    }
    if (!rotation) return write(undefined, request, "no root rotation is under way");
    if (request.action === "ignore")
      return write({ ...rotation, ignored: [...new Set([...rotation.ignored, ...request.proxies])] }, request);
    const back = rotation.origin === "command" && !rotation.isRollback ? rollBack(rotation, now()) : undefined;
    if (back) return write(back, request);
    const why = rotation.isRollback
      ? "it is rolled back already"
      : `the CA comes from ${source}: put the old one back there`;
    return write(undefined, request, why);
  };

  return {
    async step() {
      const reportsOn = isUnderWay(trust.rotation()) ? await options.look() : undefined;
      // From here on nothing is waited for until something is written.
      if (signal.aborted) return;
      const found = trust.rotation();
      const rotation = isUnderWay(found) ? found : undefined;
      const request = openRequest(options.secrets.get(`${namespace}/${rotationName}`));
      const pending = trust.pending();
      if (request) await answer(request, rotation);
      else if (rotation && reportsOn) await goOn(rotation, reportsOn);
      else if (pending) await write(begin(pending.from, pending.to, "files"));
    },
  };
}

/** Whoever changed files has put the old ones back. */
function isWantedAgain({ origin, from }: Rotation, wanted: WantedCa): boolean {
  const { bundle } = wanted.current();
  return origin === "files" && from.signer !== undefined && from.signer.certificate.raw.equals(bundle.certificate.raw);
}
