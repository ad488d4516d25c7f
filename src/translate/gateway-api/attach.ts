/** A route's parentRefs and the listeners they name in; where it attaches, and where not and why, out. */
import { type GatewayApiParentRef, hostCovers, hostsOverlap, isWildcard } from "../../model/index.ts";
import { type GatewayApiInputs, gatewayGroup, groupKind, istioGroup } from "./inputs.ts";
import type { Parent } from "./listener.ts";
import { type Problem, problem } from "./problem.ts";

export interface RouteRefs {
  readonly kind: string;
  readonly namespace: string;
  readonly parentRefs: readonly GatewayApiParentRef[];
  readonly hostnames: readonly string[];
}

export interface Attachment {
  readonly ref: GatewayApiParentRef;
  /** `mesh`, or `namespace/name` of the internal Gateway. */
  readonly gateway: string;
  readonly isMesh: boolean;
  readonly parent: Parent | undefined;
  readonly denied: Problem | undefined;
  /** Of other listeners on the same port: a host that one of them has more exactly is theirs alone. */
  readonly otherHosts: readonly string[];
  /** Hosts that a mesh route is for: those of the Service or ServiceEntry. */
  readonly meshHosts: readonly string[];
}

export interface AttachContext {
  readonly inputs: GatewayApiInputs;
  parentsOf(owner: string): readonly Parent[];
}

/** In the order of the references' names, as statuses list them. */
export function attachments(context: AttachContext, route: RouteRefs): readonly Attachment[] {
  const all = route.parentRefs.flatMap((ref) =>
    attachRef(context, route, ref).map((attachment) => ({ attachment, order: refText(ref, route.namespace) })),
  );
  return all.sort((a, b) => (a.order < b.order ? -1 : a.order > b.order ? 1 : 0)).map(({ attachment }) => attachment);
}

/** Those that hold, by the name of the internal Gateway. */
export function accepted(all: readonly Attachment[]): readonly Attachment[] {
  return all
    .filter(({ denied }) => !denied)
    .sort((a, b) => (a.gateway < b.gateway ? -1 : a.gateway > b.gateway ? 1 : 0));
}

/** A reference as text, with what the API fills in; equal for equal references. */
export function refText(ref: GatewayApiParentRef, namespace: string): string {
  return `${groupKind(ref, gatewayGroup, "Gateway")}/${ref.name ?? ""}/${ref.sectionName ?? ""}/${ref.port ?? 0}.${ref.namespace ?? namespace}`;
}

function attachRef(context: AttachContext, route: RouteRefs, ref: GatewayApiParentRef): readonly Attachment[] {
  const kind = groupKind(ref, gatewayGroup, "Gateway");
  const key = `${ref.namespace ?? route.namespace}/${ref.name ?? ""}`;
  if (kind === "/Service" || kind === `${istioGroup}/ServiceEntry`) return [attachMesh(context, kind, key, ref)];
  if (kind !== `${gatewayGroup}/Gateway` && kind !== `${gatewayGroup}/ListenerSet`) return [];
  const parents = context.parentsOf(`${kind}/${key}`);
  return parents.map((parent) => ({
    ref,
    gateway: parent.gateway,
    isMesh: false,
    parent,
    denied: deniedBy(parent, route, ref),
    otherHosts: parents
      .filter(
        (other) =>
          other !== parent &&
          other.port === parent.port &&
          other.protocol === parent.protocol &&
          other.hostname !== parent.hostname,
      )
      .map(({ hostname }) => hostname),
    meshHosts: [],
  }));
}

function attachMesh({ inputs }: AttachContext, kind: string, key: string, ref: GatewayApiParentRef): Attachment {
  const [namespace = "", name = ""] = key.split("/");
  const isService = kind === "/Service";
  const entry = isService ? undefined : inputs.serviceEntries.get(key);
  const exists = isService ? inputs.services.get(key) !== undefined : entry !== undefined;
  const what = isService ? "parent service" : "parent service entry";
  return {
    ref,
    gateway: "mesh",
    isMesh: true,
    parent: undefined,
    denied: exists ? undefined : problem("NoMatchingParent", `${what}: "${name}" not found`),
    otherHosts: [],
    meshHosts: isService ? [`${name}.${namespace}.svc.${inputs.domain}`] : (entry?.spec.hosts ?? []),
  };
}

function deniedBy(parent: Parent, route: RouteRefs, ref: GatewayApiParentRef): Problem | undefined {
  if (ref.port && ref.port !== parent.port) return problem("NoMatchingParent", `port ${ref.port} not found`);
  if (ref.sectionName && ref.sectionName !== parent.section)
    return problem("NoMatchingParent", `sectionName "${ref.sectionName}" not found`);
  const hostnames = route.hostnames.length > 0 ? route.hostnames : ["*"];
  const split = parent.hosts.map(
    (host) => [host.slice(0, host.indexOf("/")), host.slice(host.indexOf("/") + 1)] as const,
  );
  const matching = split.filter(([, host]) => hostnames.some((name) => hostsOverlap(host, name)));
  if (matching.length === 0)
    return problem("NoMatchingListenerHostname", `no hostnames matched parent hostname "${parent.hostname}"`);
  if (!matching.some(([namespace]) => namespace === "*" || namespace === route.namespace))
    return problem(
      "NotAllowedByListeners",
      `hostnames matched parent hostname "${parent.hostname}", but namespace "${route.namespace}" is not allowed by the parent`,
    );
  return parent.kinds.includes(route.kind)
    ? undefined
    : problem("NotAllowedByListeners", `kind ${gatewayGroup}/${route.kind} is not allowed`);
}

/** A wildcard listener does not serve hosts that another listener of the port has more exactly. */
export function allowsHost({ parent, otherHosts }: Attachment, host: string): boolean {
  const own = parent?.hostname ?? "";
  if (own !== "" && !isWildcard(own)) return true;
  if (own !== "" && !hostsOverlap(host, own)) return false;
  return !otherHosts.some((other) => own.length <= other.length && hostCovers(other, host));
}
