/** A cluster's name and what shall go there in; the connection to one of its endpoints out, or why there is none. */

import type { Cluster } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import type { StringMatcher } from "../../gen/envoy/type/matcher/v3/string_pb.js";
import { types } from "../../model/index.ts";
import type { ProxyView } from "../proxy-view.ts";
import { type ClientHello, type Connection, type HttpRequest, showAddress } from "../request.ts";
import { percent, type Recorder } from "../trace.ts";
import { configHint, findCluster, istioText, upstreamVersion } from "./cluster.ts";
import type { Endpoint } from "./endpoint.ts";
import { transportOf } from "./transport-socket.ts";

export interface Forwarding {
  readonly proxy: ProxyView;
  readonly recorder: Recorder;
  readonly cluster: string;
  /** What comes out of the proxy, before the cluster's own TLS. */
  readonly connection: Connection;
  /** Protocols that a filter chose instead of the cluster's. */
  alpn(version: HttpRequest["version"]): readonly string[] | undefined;
}

export type Forwarded =
  | { readonly kind: "none"; readonly flags: readonly string[]; readonly details: string; readonly missing: boolean }
  | {
      readonly kind: "connection";
      readonly connection: Connection;
      readonly endpoint: string;
      readonly hostname: string;
      /** Whether it is wrapped in TLS of the mesh's or the rule's. */
      readonly addsTls: boolean;
      /** Names that the server has to have. */
      readonly names: readonly StringMatcher[];
    };

export function forward(forwarding: Forwarding): Forwarded {
  const { proxy, recorder, cluster: name, connection } = forwarding;
  const target = findCluster(proxy, name);
  const resource = { type: types.cluster, name };
  if (target.kind === "missing") {
    recorder.step({ proxy: proxy.name, stage: "cluster", decision: `there is no cluster ${name}`, resource });
    return { kind: "none", flags: ["NC"], details: "cluster_not_found", missing: true };
  }
  const { cluster } = target;
  const hints = configHint(cluster.metadata);
  if (target.kind !== "endpoints") {
    const shown =
      target.kind === "original" ? showAddress(connection.destination) : "a name that Envoy looks up itself";
    recorder.step({ proxy: proxy.name, stage: "cluster", decision: `${name}: goes on to ${shown}`, resource, hints });
    const none = { label: "", odds: 1, address: connection.destination, hostname: "", locality: "", priority: 0 };
    return connect(forwarding, cluster, none, target.kind === "original" ? shown : "");
  }
  recorder.step({
    proxy: proxy.name,
    stage: "cluster",
    decision: clusterText(name, cluster, target.endpoints),
    resource,
    hints,
  });
  const from = { type: types.endpoint, name: cluster.edsClusterConfig?.serviceName || name };
  if (target.endpoints.length === 0) {
    recorder.step({
      proxy: proxy.name,
      stage: "endpoint",
      decision: "no endpoint is healthy",
      lost: target.unhealthy,
      resource: from,
    });
    return { kind: "none", flags: ["UH"], details: "no_healthy_upstream", missing: false };
  }
  const endpoint = recorder.choose(`endpoint of ${name}`, target.endpoints);
  const lost = [
    ...target.endpoints
      .filter((one) => one !== endpoint)
      .slice(0, 10)
      .map((one) => `${one.label}: ${percent(one.odds)}`),
    ...target.unhealthy,
  ];
  const odds = target.endpoints.length > 1 ? endpoint.odds : undefined;
  const panic = target.panic ? "; nobody is healthy, so everybody is tried" : "";
  recorder.step({
    proxy: proxy.name,
    stage: "endpoint",
    decision: `${endpoint.label}${placeText(endpoint)}${panic}`,
    lost,
    resource: from,
    ...(odds === undefined ? {} : { odds }),
  });
  return connect(forwarding, cluster, endpoint, endpoint.label);
}

const placeText = ({ locality, priority }: Pick<Endpoint, "locality" | "priority">): string =>
  `${locality === "" ? "" : ` in ${locality}`}${priority === 0 ? "" : `, priority ${priority}`}`;

function clusterText(name: string, { metadata }: Cluster, endpoints: readonly Endpoint[]): string {
  const subset = istioText(metadata, "subset");
  return `${name}${subset === "" ? "" : ` (subset ${subset})`}: ${endpoints.length} ${endpoints.length === 1 ? "endpoint" : "endpoints"}`;
}

type Picked = Omit<Endpoint, "lb"> & { readonly lb?: Endpoint["lb"] };

function connect(
  { proxy, recorder, cluster: name, connection, alpn }: Forwarding,
  cluster: Cluster,
  endpoint: Picked,
  label: string,
): Forwarded {
  const transport = transportOf(cluster, endpoint.lb);
  const { payload } = connection;
  const version = payload.kind === "http" ? upstreamVersion(cluster, payload.request.version) : "HTTP/1.1";
  const offered =
    (istioText(cluster.metadata, "alpn_override") === "false" ? undefined : alpn(version)) ?? transport.tls?.alpn ?? [];
  const hello: ClientHello | undefined = transport.tls && {
    sni: transport.tls.sni,
    alpn: offered,
    peer: transport.tls.certificates.includes("default") ? proxy.identity : transport.tls.certificates[0],
  };
  recorder.step({
    proxy: proxy.name,
    stage: "transport",
    decision: hello
      ? tlsText(hello, transport.match)
      : `plain text${transport.match === "" ? "" : ` (${transport.match})`}`,
    lost: transport.lost,
    resource: { type: types.cluster, name },
    hints: configHint(cluster.metadata),
  });
  const carried = payload.kind === "http" ? { ...payload, request: { ...payload.request, version } } : payload;
  return {
    kind: "connection",
    endpoint: label,
    hostname: endpoint.hostname,
    addsTls: hello !== undefined,
    names: transport.tls?.names ?? [],
    connection: {
      source: { ip: proxy.addresses[0] ?? connection.source.ip, port: 0 },
      destination: endpoint.address ?? { ip: "", port: 0 },
      tls: hello ? [hello, ...connection.tls] : connection.tls,
      payload: carried,
    },
  };
}

const tlsText = ({ sni, alpn, peer }: ClientHello, match: string): string =>
  `TLS${match === "" ? "" : ` (${match})`} as ${peer ?? "nobody"}, server name ${sni || "none"}${alpn.length === 0 ? "" : `, offers ${alpn.join(", ")}`}`;
