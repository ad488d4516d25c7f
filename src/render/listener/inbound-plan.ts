/** A sidecar's services, or the ports its Sidecar object declares, in; the ports it listens for traffic on out. */
import type { MtlsMode } from "../../mesh/index.ts";
import {
  type Config,
  type ObjectId,
  type Protocol,
  parseProtocol,
  type ServerFacet,
  type Service,
  type SidecarSpec,
} from "../../model/index.ts";
import { serverFacet } from "../facets.ts";
import { canListen, wildcards } from "../proxy/addresses.ts";
import { canBind } from "../proxy/proxy-config.ts";
import { servedPorts } from "../proxy/served-ports.ts";
import { recipe } from "../recipe.ts";
import type { View } from "../view.ts";

export interface InboundPort {
  /** Where the workload listens. */
  readonly targetPort: number;
  /** Of the service, for telemetry. */
  readonly port: number;
  readonly portName: string;
  readonly protocol: Protocol;
  readonly binds: readonly [string, ...string[]];
  readonly bindToPort: boolean;
  /** For telemetry: the host, and the service where there is one. */
  readonly host: string;
  readonly service: Pick<Service, "host" | "name" | "namespace" | "registry"> | undefined;
  readonly sidecar: ObjectId | undefined;
  readonly mode: MtlsMode;
}

/** In order of their numbers; of several services on one port the oldest decides. */
export const inboundPorts = recipe(serverFacet, "inbound ports", (view): readonly InboundPort[] => {
  const sidecar = view.mesh.sidecar(view.proxy.sidecar);
  const declared = sidecar?.spec.ingress ?? [];
  // Without capture the application itself is on its port: only what the user declares can be listened on.
  const all =
    sidecar && declared.length > 0
      ? ingressPorts(view, sidecar)
      : view.proxy.interception === "NONE"
        ? []
        : servicePorts(view);
  const first = new Map<number, InboundPort>();
  for (const port of all) if (!first.has(port.targetPort)) first.set(port.targetPort, port);
  return [...first.values()].sort((a, b) => a.targetPort - b.targetPort);
});

/** Port 0 is any port: what the workload as a whole demands. */
export function mtlsMode(view: View<ServerFacet>, port: number): MtlsMode {
  const { mode, ports, policies } = view.mesh.peerMtls(view.proxy.peerAuthentications);
  for (const { meta } of policies) view.mesh.graph.note(`PeerAuthentication/${meta.namespace}/${meta.name}`, "spec");
  return ports.get(port) ?? mode;
}

/** Ports that nobody declared, 0 for all that are not named here. */
export interface UndeclaredPort {
  readonly port: number;
  readonly mode: MtlsMode;
}

/** What has catch-all chains: any port, and ports with an mTLS mode of their own. */
export const undeclaredPorts = (view: View<ServerFacet>): readonly UndeclaredPort[] =>
  [0, ...undeclaredMtlsPorts(view)].map((port) => ({ port, mode: mtlsMode(view, port) }));

function undeclaredMtlsPorts(view: View<ServerFacet>): readonly number[] {
  const ingress = view.mesh.sidecar(view.proxy.sidecar)?.spec.ingress ?? [];
  const declared = new Set(
    ingress.length > 0
      ? ingress.map(({ port }) => port?.number)
      : view.proxy.targets.map((target) => target.targetPort),
  );
  return [...view.mesh.peerMtls(view.proxy.peerAuthentications).ports.keys()]
    .filter((port) => !declared.has(port))
    .sort((a, b) => a - b);
}

function servicePorts(view: View<ServerFacet>): readonly InboundPort[] {
  const binds = wildcards(view.proxy);
  return servedPorts(view).flatMap(({ service, servicePort, targetPort }) => {
    if (isReserved(view, targetPort)) return [];
    const { name: portName, port, protocol } = servicePort;
    const { host, name, namespace, registry } = service;
    const mode = mtlsMode(view, targetPort);
    return [
      {
        targetPort,
        port,
        portName,
        protocol,
        binds,
        bindToPort: false,
        host,
        service: { host, name, namespace, registry },
        sidecar: undefined,
        mode,
      },
    ];
  });
}

/** The capture listeners' own ports are no one else's. */
function isReserved(view: View<ServerFacet>, port: number): boolean {
  const { proxyListenPort, proxyInboundListenPort } = view.mesh.settings();
  return port === proxyListenPort || port === proxyInboundListenPort;
}

function ingressPorts(view: View<ServerFacet>, { meta, spec }: Config<SidecarSpec>): readonly InboundPort[] {
  return (spec.ingress ?? []).flatMap(({ port, bind, captureMode }) => {
    const number = port?.number ?? 0;
    const none =
      captureMode === undefined || captureMode === "DEFAULT"
        ? view.proxy.interception === "NONE"
        : captureMode === "NONE";
    const binds = bind ? ([bind] as const) : ownBinds(view);
    if ((none && !canBind(view.proxy, number)) || !canListen(binds[0], number)) return [];
    return [
      {
        targetPort: number,
        port: number,
        portName: port?.name ?? "",
        protocol: parseProtocol(port?.protocol ?? ""),
        binds,
        bindToPort: none,
        // A Sidecar has no host: a made-up one keeps its telemetry apart. It is of the proxy's namespace, wherever the Sidecar is.
        host: `${meta.name}.${view.proxy.namespace}`,
        service: undefined,
        sidecar: { name: meta.name, namespace: view.proxy.namespace },
        mode: mtlsMode(view, number),
      } satisfies InboundPort,
    ];
  });
}

/** The workload's own address, so that loopback stays the application's. */
function ownBinds(view: View<ServerFacet>): readonly [string, ...string[]] {
  const [own] = view.proxy.ownAddresses;
  return own === undefined ? wildcards(view.proxy) : [own];
}
