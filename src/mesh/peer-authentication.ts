/** The PeerAuthentications that match a workload in, its effective mTLS modes out. */
import type { Config, PeerAuthenticationSpec } from "../model/index.ts";
import type { MtlsMode, PeerMtls } from "./mesh.ts";
import { selectorOf } from "./policy.ts";

type Policy = Config<PeerAuthenticationSpec>;

/** Oldest first in. Of each level the oldest counts: mesh (root namespace, no selector), namespace, workload. */
export function composePeerAuthentication(matching: readonly Policy[], rootNamespace: string): PeerMtls {
  if (matching.length === 0) return unsaid;
  const isRoot = (policy: Policy): boolean => policy.meta.namespace === rootNamespace;
  const isWide = (policy: Policy): boolean => Object.keys(selectorOf(policy.spec)).length === 0;
  const mesh = matching.find((policy) => isRoot(policy) && isWide(policy));
  const namespace = matching.find((policy) => !isRoot(policy) && isWide(policy));
  // A policy with a selector in the root namespace selects nothing.
  const workload = matching.find((policy) => !isRoot(policy) && !isWide(policy));
  const policies = [mesh, namespace, workload].filter((policy) => policy !== undefined);
  const mode = policies.reduce<MtlsMode>((inherited, policy) => modeOf(policy.spec.mtls, inherited), "PERMISSIVE");
  const ports = Object.entries(workload?.spec.portLevelMtls ?? {}).map(
    ([port, mtls]) => [Number(port), modeOf(mtls, mode)] as const,
  );
  return { mode, ports: new Map(ports), policies };
}

const unsaid: PeerMtls = { mode: "PERMISSIVE", ports: new Map(), policies: [] };

function modeOf(mtls: PeerAuthenticationSpec["mtls"], inherited: MtlsMode): MtlsMode {
  const mode = mtls?.mode;
  return mode === undefined || mode === "UNSET" ? inherited : mode;
}
