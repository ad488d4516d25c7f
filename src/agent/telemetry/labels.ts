/**
 * The label columns of a line, who the proxy itself is and who the table says is at the peer's address in; Istio's
 * standard labels out. What a certificate proves goes over what an address suggests; what nobody knows is `unknown`.
 */
import { isRecord, parseJson, readList, readRecord, readText } from "../../lib/index.ts";
import { columnSeparator, type LabelColumn, labelColumns, parseIdentity } from "../../model/index.ts";
import type { Plan } from "./metric-plan.ts";

/** A workload as labels show it; empty where unknown. */
export interface Named {
  readonly name: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly canonicalService: string;
  readonly canonicalRevision: string;
  readonly app: string;
  readonly version: string;
}

/** What the table has. */
export type Peer = Named & { readonly identity: string };

export type Labels = ReadonlyMap<string, string>;

export interface LineKey {
  readonly column: (name: LabelColumn) => string;
  /** Values of tags that the user sets. */
  readonly further: readonly string[];
}

export const unknown = "unknown";

/**
 * Undefined where there are too few columns. Too many come of a separator in what somebody sent or wrote: then it cannot
 * be told which columns are whose, and none is believed.
 */
export function parseKey(text: string, tagColumns: number): LineKey | "ambiguous" | undefined {
  const columns = text.split(columnSeparator);
  const wanted = labelColumns.length + tagColumns;
  if (columns.length !== wanted) return columns.length < wanted ? undefined : "ambiguous";
  const named = new Map(labelColumns.map((name, index) => [name, present(columns[index])]));
  return { column: (name) => named.get(name) ?? "", further: columns.slice(labelColumns.length).map(present) };
}

/** Envoy's sign for nothing. */
const present = (text: string | undefined): string => (text === undefined || text === "-" ? "" : text);

export function buildLabels(plan: Plan, key: LineKey, own: Named, found: Peer | undefined): Labels {
  const inbound = plan.reporter === "destination";
  const peerPrincipal = firstOf(key.column("peerPrincipal"));
  const localPrincipal = firstOf(key.column("localPrincipal"));
  const peer = peerOf(key, peerPrincipal, found);
  const service = inbound ? inboundService(key, own) : outboundService(key, peer);
  const local = party(own, localPrincipal);
  const other = party(peer, peerPrincipal);
  const [source, destination] = inbound ? [other, local] : [local, other];
  const isMutual = peerPrincipal !== "" && localPrincipal !== "";
  const isGrpc = key.column("grpcStatus") !== "";
  return new Map([
    ["reporter", plan.reporter],
    ...source.map(([label, value]) => [`source_${label}`, value] as const),
    ...destination.map(([label, value]) => [`destination_${label}`, value] as const),
    ["destination_service", service.host || unknown],
    ["destination_service_name", service.name || unknown],
    ["destination_service_namespace", service.namespace || unknown],
    ["request_protocol", plan.protocol === "tcp" ? "tcp" : isGrpc ? "grpc" : "http"],
    ["response_code", key.column("responseCode") || "0"],
    ["grpc_response_status", key.column("grpcStatus")],
    ["response_flags", key.column("responseFlags") || "-"],
    ["connection_security_policy", inbound ? (isMutual ? "mutual_tls" : "none") : unknown],
  ]);
}

/** The same names with every value unknown: where there are too many to tell apart. */
export function overflowLabels(plan: Plan): Labels {
  const all = buildLabels(plan, { column: () => "", further: [] }, nobody, undefined);
  return new Map([...all].map(([label, value]) => [label, label === "reporter" ? value : unknown]));
}

const nobody: Named = {
  name: "",
  namespace: "",
  cluster: "",
  canonicalService: "",
  canonicalRevision: "",
  app: "",
  version: "",
};

function party(named: Named, principal: string): readonly (readonly [string, string])[] {
  return [
    ["workload", named.name || unknown],
    ["canonical_service", named.canonicalService || unknown],
    ["canonical_revision", named.canonicalRevision || "latest"],
    ["workload_namespace", named.namespace || unknown],
    ["principal", principal || unknown],
    ["app", named.app || unknown],
    ["version", named.version || unknown],
    ["cluster", named.cluster || unknown],
  ];
}

/** A certificate may have several names; the mesh's have one. */
const firstOf = (principals: string): string => principals.split(",")[0] ?? "";

/**
 * An address whose workload has another identity than the certificate shows belongs to something in between (a gateway,
 * address translation): then only the namespace is known.
 */
function peerOf(key: LineKey, principal: string, found: Peer | undefined): Named {
  const proven = parseIdentity(principal);
  const isSame = (identity: string): boolean => {
    const other = parseIdentity(identity);
    return (
      !proven || !other || (other.namespace === proven.namespace && other.serviceAccount === proven.serviceAccount)
    );
  };
  if (found && isSame(found.identity)) return { ...found, namespace: proven?.namespace ?? found.namespace };
  const told = found ? undefined : endpointWorkload(key.column("peerWorkload"));
  if (told && (!proven || proven.namespace === told.namespace)) return told;
  return { ...nobody, namespace: proven?.namespace ?? "" };
}

/** What an endpoint's own metadata says: name, namespace, canonical service, its revision, cluster. */
function endpointWorkload(text: string): Named | undefined {
  const [name = "", namespace = "", canonicalService = "", canonicalRevision = "", cluster = ""] = text.split(";");
  return name === "" ? undefined : { ...nobody, name, namespace, canonicalService, canonicalRevision, cluster };
}

interface DestinationService {
  readonly host: string;
  readonly name: string;
  readonly namespace: string;
}

const fixedRoutes: ReadonlyMap<string, string> = new Map([
  ["block_all", "BlackHoleCluster"],
  ["allow_any", "PassthroughCluster"],
]);
const fixedClusters = new Set([
  "BlackHoleCluster",
  "PassthroughCluster",
  "InboundPassthroughCluster",
  "InboundPassthroughClusterIpv4",
  "InboundPassthroughClusterIpv6",
]);

function inboundService(key: LineKey, own: Named): DestinationService {
  const { host, name } = namedService(key);
  return { host: host || own.canonicalService, name: name || own.canonicalService, namespace: own.namespace };
}

function outboundService(key: LineKey, peer: Named): DestinationService {
  const service = namedService(key);
  return { ...service, namespace: service.namespace || peer.namespace };
}

/** Traffic for no service goes by the name of its cluster. Istio would take the Host header for the host; anybody can send any. */
function namedService(key: LineKey): DestinationService {
  const cluster = key.column("cluster");
  const fixed = fixedRoutes.get(key.column("route")) ?? (fixedClusters.has(cluster) ? cluster : undefined);
  return fixed === undefined ? clusterService(key.column("services")) : { host: "", name: fixed, namespace: "" };
}

/** The first service of a cluster's metadata. */
function clusterService(services: string): DestinationService {
  const first = services === "" ? undefined : readList(readJson(services))[0];
  if (!isRecord(first)) return { host: "", name: "", namespace: "" };
  const { host, name, namespace } = readRecord(first);
  const known = readText(host);
  return { host: known, name: readText(name) || (known.split(".")[0] ?? ""), namespace: readText(namespace) };
}

function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
