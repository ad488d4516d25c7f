/**
 * A change from one CA to another, as data: which signer is used and which roots are believed at each step, what comes
 * next, and the way back. Nobody may meet a certificate whose root he has not been given, so the new root is believed
 * before it is used, and the old one until nobody shows a certificate of it.
 */
import { createHash, type X509Certificate } from "node:crypto";
import { chainsTo, formatBundle } from "../pki/index.ts";
import type { SigningBundle } from "./signing-bundle.ts";

/**
 * trust: all are given both roots. reissue: the new signer signs, and all are asked to come for new certificates.
 * settle: the control plane itself shows certificates of the new signer. done: the old root is gone.
 */
export type RotationPhase = "trust" | "reissue" | "settle" | "done";

/** What was there before; its key may be lost, where files were replaced while nobody watched. */
export interface FormerCa {
  readonly roots: readonly X509Certificate[];
  readonly signer: SigningBundle | undefined;
}

export interface Rotation {
  readonly id: string;
  readonly phase: RotationPhase;
  readonly startedAt: Date;
  /** When the phase began. */
  readonly since: Date;
  /** Counts how often proxies were asked to come again for certificates. */
  readonly epoch: number;
  /** Who asked for it: `fairlead ca rotate-root`, or whoever changed the CA's files. */
  readonly origin: "command" | "files";
  readonly isRollback: boolean;
  /** Who is not waited for: proxies as `pod.namespace`, accounts as `namespace/account`. */
  readonly ignored: readonly string[];
  readonly from: FormerCa;
  readonly to: SigningBundle;
}

/** Where a change from one CA to another begins; undefined where it can be made at once. */
export function firstPhase(current: FormerCa, wanted: SigningBundle, now: Date): RotationPhase | undefined {
  if (!chainsTo(wanted.certificate, wanted.chain, current.roots, now)) return "trust";
  return current.roots.every((root) => isAmong(wanted.roots, root)) ? undefined : "reissue";
}

/** Who signs for workloads, with all roots that are believed. */
export function signerOf({ phase, from, to }: Rotation): SigningBundle {
  if (phase === "done") return to;
  if (phase === "trust") return { ...(from.signer ?? to), roots: allRoots(from.roots, to.roots) };
  return { ...to, roots: allRoots(to.roots, from.roots) };
}

/** Who signs for the control plane itself: files with its root reach agents late, so the old one for as long as possible. */
export function servingSignerOf({ phase, from, to }: Rotation): SigningBundle {
  return (phase === "trust" || phase === "reissue") && from.signer ? from.signer : to;
}

const following: Readonly<Record<RotationPhase, RotationPhase>> = {
  trust: "reissue",
  reissue: "settle",
  settle: "done",
  done: "done",
};

export function nextPhase(rotation: Rotation, now: Date): Rotation {
  return { ...rotation, phase: following[rotation.phase], since: now };
}

/** Undefined where there is nothing to go back to. */
export function rollBack(rotation: Rotation, now: Date): Rotation | undefined {
  const { phase, from, to, isRollback, epoch } = rotation;
  if (phase === "done" || !from.signer) return undefined;
  return {
    ...rotation,
    from: { roots: to.roots, signer: to },
    to: from.signer,
    isRollback: !isRollback,
    // Before the signer was changed nobody has a certificate of the new one.
    phase: phase === "trust" ? "settle" : "reissue",
    epoch: epoch + 1,
    since: now,
  };
}

/**
 * The roots as agents are told them. Istio's agent comes for a new certificate whenever this text differs from the last
 * one: it does with each order of the roots and each epoch.
 */
export function bundleTexts(roots: readonly X509Certificate[], epoch: number): readonly string[] {
  return roots.map((root, i) => formatBundle([root]) + (i === roots.length - 1 ? "\n".repeat(epoch) : ""));
}

/** The same for the same roots in any order. */
export function rootsId(roots: readonly X509Certificate[]): string {
  const prints = roots.map((root) => root.fingerprint256).sort();
  return createHash("sha256").update(prints.join()).digest("hex");
}

/** Those of the first, in their order, then the others. */
export function allRoots(a: readonly X509Certificate[], b: readonly X509Certificate[]): readonly X509Certificate[] {
  return [...a, ...b.filter((root) => !isAmong(a, root))];
}

function isAmong(roots: readonly X509Certificate[], root: X509Certificate): boolean {
  return roots.some((other) => other.raw.equals(root.raw));
}
