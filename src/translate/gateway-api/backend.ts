/** A backendRef in; the destination it means, or what is wrong with it, out. */
import type { Destination, GatewayApiBackendRef } from "../../model/index.ts";
import type { Grants } from "./grant.ts";
import { type GatewayApiInputs, gatewayGroup, groupKind, istioGroup } from "./inputs.ts";
import { type Outcome, type Problem, problem } from "./problem.ts";

export interface BackendContext {
  readonly inputs: GatewayApiInputs;
  readonly grants: Grants;
  /** Kind and namespace of the route. */
  readonly kind: string;
  readonly namespace: string;
  /** Routes of Services need no grant: the client's own rules apply. */
  readonly needsGrant: boolean;
}

/** Problems that leave the rest of the route alone: requests to this backend alone fail. */
const softReasons: ReadonlySet<string> = new Set(["RefNotPermitted", "BackendNotFound", "InvalidKind"]);
export const isSoft = ({ reason }: Problem): boolean => softReasons.has(reason);

export function backendDestination(context: BackendContext, ref: GatewayApiBackendRef): Outcome<Destination> {
  const { inputs, namespace: own } = context;
  const kind = groupKind(ref, "", "Service");
  const { name = "", namespace = own, port } = ref;
  const reference = {
    from: `${gatewayGroup}/${context.kind}`,
    fromNamespace: own,
    to: kind,
    toNamespace: namespace,
    name,
  };
  if (context.needsGrant && namespace !== own && !context.grants(reference))
    return {
      value: {},
      problem: problem(
        "RefNotPermitted",
        `backendRef ${name}/${namespace} not accessible to a ${context.kind} in namespace "${own}" (missing a ReferenceGrant?)`,
      ),
    };
  const target = targetOf(inputs, kind, ref, namespace);
  if (!target.value)
    return target.problem && isSoft(target.problem)
      ? { value: {}, problem: target.problem }
      : target.problem
        ? { problem: target.problem }
        : {};
  if (port === undefined) return { problem: problem("InvalidDestination", "port is required in backendRef") };
  return {
    value: { host: target.value, port: { number: port } },
    ...(target.problem ? { problem: target.problem } : {}),
  };
}

/** The host; with a problem beside it where nothing has that host yet. */
function targetOf(
  inputs: GatewayApiInputs,
  kind: string,
  ref: GatewayApiBackendRef,
  namespace: string,
): Outcome<string> {
  const name = ref.name ?? "";
  const found = (host: string, exists: boolean): Outcome<string> =>
    exists ? { value: host } : { value: host, problem: problem("BackendNotFound", `backend(${host}) not found`) };
  if (kind === "/Service" || kind === "multicluster.x-k8s.io/ServiceImport") {
    if (kind === "/Service" && name.includes("."))
      return {
        problem: problem(
          "InvalidDestination",
          "service name invalid; the name of the Service must be used, not the hostname.",
        ),
      };
    return found(
      `${name}.${namespace}.svc.${inputs.domain}`,
      inputs.services.get(`${namespace}/${name}`) !== undefined,
    );
  }
  if (kind === `${istioGroup}/Hostname`) {
    if (ref.namespace !== undefined)
      return { problem: problem("InvalidDestination", "namespace may not be set with Hostname type") };
    return found(name, inputs.namespacesOfHost(name).length > 0);
  }
  return {
    problem: problem(
      "InvalidKind",
      `referencing unsupported backendRef: group "${ref.group ?? ""}" kind "${ref.kind ?? ""}"`,
    ),
  };
}

/** Weight 0 is left out, and a single backend needs no weight. */
export function weighted<B extends { readonly weight?: number }>(
  refs: readonly B[],
): readonly { readonly ref: B; readonly weight: number }[] {
  const used = refs.filter((ref) => (ref.weight ?? 1) !== 0);
  return used.map((ref) => ({ ref, weight: used.length === 1 ? 0 : (ref.weight ?? 1) }));
}

export const weightSum = (refs: readonly { readonly weight?: number }[]): number =>
  refs.reduce((sum, ref) => sum + (ref.weight ?? 1), 0);
