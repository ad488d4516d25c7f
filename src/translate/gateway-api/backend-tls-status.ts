/** A BackendTLSPolicy, its targets and the Gateways that reach them in; its status out. */
import type { BackendTLSPolicySpec, BackendTLSPolicyTargetRef, Config } from "../../model/index.ts";
import { gatewayController } from "./gateway.ts";
import { gatewayGroup } from "./inputs.ts";
import { type Problem, problem } from "./problem.ts";
import { condition, conditions } from "./status.ts";

/** Who answers for targets themselves: every client in the mesh, behind no Gateway. */
const meshController = "istio.io/mesh-controller";

export interface BackendTlsVerdict {
  /** What keeps the certificate authority from being used. */
  readonly ca: { readonly accepted: Problem; readonly resolved: Problem } | undefined;
  readonly targets: readonly { readonly ref: BackendTLSPolicyTargetRef; readonly problem: Problem | undefined }[];
  /** Names of Gateways with routes to a target, in order. */
  readonly gateways: readonly string[];
}

const maxAncestors = 16;

export function backendTlsStatus(
  { meta, spec }: Config<BackendTLSPolicySpec>,
  { ca, targets, gateways }: BackendTlsVerdict,
): Readonly<Record<string, unknown>> {
  const several = (spec.validation?.caCertificateRefs ?? []).length > 1;
  const message = `Configuration is valid${several ? "; warning: only the first caCertificateRefs will be used" : ""}`;
  const ancestor = (ancestorRef: unknown, controllerName: string, wrong: Problem | undefined) => ({
    ancestorRef,
    controllerName,
    conditions: conditions(
      condition("Accepted", meta.generation, { reason: "Accepted", message }, wrong ?? ca?.accepted),
      condition(
        "ResolvedRefs",
        meta.generation,
        { reason: "ResolvedRefs", message: "Configuration is valid" },
        ca?.resolved,
      ),
    ),
  });
  const ofTargets = targets.map(({ ref, problem: wrong }) => ancestor(targetRef(ref), meshController, wrong));
  const wrong = targets.every((target) => target.problem) ? targets[0]?.problem : undefined;
  const ofGateways = gateways.map((name) =>
    ancestor({ group: gatewayGroup, kind: "Gateway", name }, gatewayController, wrong),
  );
  return { ancestors: [...ofTargets, ...ofGateways].slice(0, maxAncestors) };
}

function targetRef({ group = "", kind = "", name = "", sectionName }: BackendTLSPolicyTargetRef) {
  return { group, kind, name, ...(sectionName ? { sectionName } : {}) };
}

export const notFound = (why: string): Problem => problem("TargetNotFound", `targetRefs invalid: ${why}`);
