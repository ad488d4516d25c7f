/** Routes and where they attach in; the VirtualServices that do the same out. */
import { type Collection, type Graph, unionOf } from "../../collections/index.ts";
import { sortBy } from "../../lib/index.ts";
import type { Config, HTTPRoute, TCPRoute, TLSRoute, VirtualServiceSpec } from "../../model/index.ts";
import { type AttachContext, type Attachment, accepted, allowsHost, attachments } from "./attach.ts";
import type { BackendContext } from "./backend.ts";
import type { Grants } from "./grant.ts";
import { grpcRoutes, httpRoutes, sortRoutes } from "./http-route.ts";
import { type GatewayApiInputs, generatedName } from "./inputs.ts";
import { compatibleWith, constrainToListener, forMesh, intersectHosts, tcpRoutes, tlsRoutes } from "./layer4-route.ts";
import type { Outcome } from "./problem.ts";

export type VirtualService = Config<VirtualServiceSpec>;

/** An HTTP route's share of the VirtualService for one gateway and host. */
interface Share {
  readonly group: string;
  readonly object: Config<unknown>;
  readonly parents: string;
  readonly host: string;
  readonly gateway: string;
  readonly http: readonly HTTPRoute[];
}

export interface RouteContext extends AttachContext {
  readonly grants: Grants;
}

export function translateRoutes(graph: Graph, context: RouteContext) {
  const { configs } = context.inputs;
  const shares = unionOf("route shares", [
    graph.derive("HTTPRoute shares", configs.httpRoutes, (route, key) =>
      httpShares(context, "HTTPRoute", route, httpRoutes, key),
    ),
    graph.derive("GRPCRoute shares", configs.grpcRoutes, (route, key) =>
      httpShares(context, "GRPCRoute", route, grpcRoutes, key),
    ),
  ]);
  const byGroup = graph.index(shares, "group", (share) => [share.group]);
  const merged = graph.derive<ReadonlySet<string>, VirtualService>("merged routes", byGroup.groups, (keys, group) => {
    const config = mergeShares(
      group,
      [...keys].flatMap((key) => shares.get(key) ?? []),
    );
    return config ? [[`${config.meta.namespace}/${config.meta.name}`, config]] : [];
  });
  return unionOf("Gateway API routes", [
    merged,
    graph.derive("TCPRoutes translated", configs.tcpRoutes, (route) => named(tcpServices(context, route))),
    graph.derive("TLSRoutes translated", configs.tlsRoutes, (route) => named(tlsServices(context, route))),
  ]) satisfies Collection<VirtualService>;
}

const named = (services: readonly VirtualService[]): readonly (readonly [string, VirtualService])[] =>
  services.map((config) => [`${config.meta.namespace}/${config.meta.name}`, config]);

export interface Route
  extends Config<{ readonly parentRefs?: readonly object[]; readonly hostnames?: readonly string[] }> {}

export function routeAttachments(context: AttachContext, kind: string, { meta, spec }: Route): readonly Attachment[] {
  return attachments(context, {
    kind,
    namespace: meta.namespace,
    parentRefs: spec.parentRefs ?? [],
    hostnames: spec.hostnames ?? [],
  });
}

export function backendContext(
  { inputs, grants }: RouteContext,
  kind: string,
  namespace: string,
  isMesh: boolean,
): BackendContext {
  return { inputs, grants, kind, namespace, needsGrant: !isMesh };
}

function httpShares<R extends Route>(
  context: RouteContext,
  kind: string,
  route: R,
  convert: (route: R, context: BackendContext) => Outcome<readonly HTTPRoute[]>,
  key: string,
): readonly (readonly [string, Share])[] {
  const { namespace, name } = route.meta;
  const routesFor = (isMesh: boolean): readonly HTTPRoute[] =>
    convert(route, backendContext(context, kind, namespace, isMesh)).value ?? [];
  const shares = accepted(routeAttachments(context, kind, route)).flatMap((attachment) => {
    const { isMesh, ref } = attachment;
    const routes = routesFor(isMesh);
    if (routes.length === 0) return [];
    const hosts = isMesh ? attachment.meshHosts : route.spec.hostnames?.length ? route.spec.hostnames : ["*"];
    const place = isMesh ? `${namespace}${ref.port ? `/${ref.port}` : ""}` : attachment.gateway;
    const http = isMesh && ref.port ? atPort(routes, ref.port) : routes;
    return hosts
      .filter((host) => allowsHost(attachment, host))
      .map((host) => ({
        group: `${place}/${host}`,
        object: route,
        parents: `${kind}/${name}.${namespace}`,
        host,
        gateway: attachment.gateway,
        http,
      }));
  });
  return shares.map((share, i) => [`${kind}/${key}/${i}`, share]);
}

function atPort<R extends { readonly match?: readonly object[] }>(routes: readonly R[], port: number): readonly R[] {
  return routes.map((route) => ({
    ...route,
    match: (route.match?.length ? route.match : [{}]).map((match) => ({ ...match, port })),
  }));
}

/** Routes of one gateway and host are one VirtualService: older objects first, then in the order of their matches. */
function mergeShares(group: string, shares: readonly Share[]): VirtualService | undefined {
  const sorted = sortBy(
    shares,
    ({ object }) => object.meta.creationTimestamp ?? "",
    ({ object }) => object.meta.namespace,
    ({ object }) => object.meta.name,
  );
  const [first] = sorted;
  if (!first) return undefined;
  const parents = sorted.map((share) => share.parents).join(",");
  const http = sortRoutes(sorted.flatMap((share) => share.http));
  return virtualService(first.object, group.replaceAll("/", "~"), parents, {
    hosts: [first.host],
    gateways: [first.gateway],
    http,
  });
}

function virtualService(
  { meta }: Config<unknown>,
  name: string,
  parents: string,
  spec: VirtualServiceSpec,
): VirtualService {
  return {
    kind: "VirtualService",
    meta: {
      name,
      namespace: meta.namespace,
      ...(meta.creationTimestamp === undefined ? {} : { creationTimestamp: meta.creationTimestamp }),
      annotations: { "internal.istio.io/route-semantics": "gateway", "internal.istio.io/parents": parents },
    },
    spec,
  };
}

type Layer4Specs = Pick<VirtualServiceSpec, "tcp" | "tls">;

function layer4Services(
  route: Route,
  kind: string,
  suffix: string,
  entries: readonly { readonly host: string; readonly gateway: string; readonly spec: Layer4Specs }[],
): readonly VirtualService[] {
  const { name, namespace } = route.meta;
  return entries.map(({ host, gateway, spec }, i) =>
    virtualService(route, `${name}~${suffix}~${i}~${generatedName}`, `${kind}/${name}.${namespace}`, {
      hosts: [host],
      gateways: [gateway],
      ...spec,
    }),
  );
}

function tcpServices(
  context: RouteContext,
  route: GatewayApiInputs["configs"]["tcpRoutes"] extends Collection<infer R> ? R : never,
): readonly VirtualService[] {
  const entries = accepted(routeAttachments(context, "TCPRoute", route)).flatMap((attachment) => {
    const { isMesh, ref, gateway } = attachment;
    const made = tcpRoutes(route, backendContext(context, "TCPRoute", route.meta.namespace, isMesh)).value ?? [];
    const tcp: readonly TCPRoute[] = isMesh && ref.port ? atPort(made, ref.port) : made;
    return (isMesh ? attachment.meshHosts : ["*"]).map((host) => ({ host, gateway, spec: { tcp } }));
  });
  return layer4Services(route, "TCPRoute", "tcp", entries);
}

function tlsServices(
  context: RouteContext,
  route: GatewayApiInputs["configs"]["tlsRoutes"] extends Collection<infer R> ? R : never,
): readonly VirtualService[] {
  const entries = accepted(routeAttachments(context, "TLSRoute", route)).flatMap((attachment) => {
    const { isMesh, ref, gateway, meshHosts } = attachment;
    const made = tlsRoutes(route, backendContext(context, "TLSRoute", route.meta.namespace, isMesh)).value ?? [];
    if (isMesh) {
      const routes = forMesh(made, ref.port, meshHosts);
      return meshHosts.map((host) => ({ host, gateway, spec: { tls: compatibleWith(routes, host) } }));
    }
    return gatewayTls(made, route.spec.hostnames?.length ? route.spec.hostnames : ["*"], attachment).map(
      ({ host, tls }) => ({ host, gateway, spec: { tls } }),
    );
  });
  return layer4Services(route, "TLSRoute", "tls", entries);
}

/** Route and listener each narrow the other's hosts. */
function gatewayTls(
  routes: readonly TLSRoute[],
  hosts: readonly string[],
  { parent }: Attachment,
): readonly { readonly host: string; readonly tls: readonly TLSRoute[] }[] {
  const hostname = parent?.hostname ?? "";
  if (hostname === "") return hosts.map((host) => ({ host, tls: routes }));
  const tls = constrainToListener(routes, hostname);
  return intersectHosts(hosts, [hostname]).map((host) => ({ host, tls }));
}
