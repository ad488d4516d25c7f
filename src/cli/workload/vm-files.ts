/** A WorkloadGroup and the mesh's settings in; the files that a machine joins with, as istioctl writes them, out. */
import { proxyConfigJson } from "../../agent/index.ts";
import { parseYaml, readNumber, readRecord, readText, readTextMap, sortBy } from "../../lib/index.ts";
import { canonicalName, canonicalRevision, type KubeObject } from "../../model/index.ts";
import { printSortedYaml } from "../print.ts";

type Json = Readonly<Record<string, unknown>>;

export interface VmOptions {
  readonly cluster: string;
  readonly namespace: string;
  readonly revision: string;
  readonly captureDns: boolean;
  readonly autoRegister: boolean;
  readonly internalIp: string;
  readonly externalIp: string;
}

export interface VmSettings {
  /** For the ProxyConfig of the machine's agent. */
  readonly meshYaml: string;
  /** For the environment of its agent and of the rules that capture its traffic. */
  readonly clusterEnv: string;
}

export const isRevisioned = (revision: string): boolean => revision !== "" && revision !== "default";
export const controlPlaneHost = ({ namespace, revision }: Pick<VmOptions, "namespace" | "revision">): string =>
  `istiod${isRevisioned(revision) ? `-${revision}` : ""}.${namespace}.svc`;

export function vmSettings(group: KubeObject, meshConfig: string, options: VmOptions): VmSettings {
  const [mesh] = parseYaml(meshConfig).map(readRecord);
  const proxyConfig = proxyConfigOf(group, mesh ?? {}, options);
  return {
    meshYaml: printSortedYaml({ defaultConfig: proxyConfigJson(proxyConfig) }),
    clusterEnv: environmentText({
      ...readTextMap(proxyConfig.proxyMetadata),
      ...captureEnvironment(group, proxyConfig, options),
    }),
  };
}

export const accountOf = ({ spec }: KubeObject): string =>
  readText(readRecord(readRecord(spec).template).serviceAccount) || "default";

const portsOf = ({ spec }: KubeObject): readonly (readonly [string, number])[] =>
  sortBy(
    Object.entries(readRecord(readRecord(readRecord(spec).template).ports)).map(
      ([name, port]) => [name, readNumber(port) ?? 0] as const,
    ),
    ([name]) => name,
  );

/** Annotations of the group, and of what it makes, may change single settings. */
function proxyConfigOf(group: KubeObject, mesh: Json, options: VmOptions): Json {
  const { probe, metadata } = readRecord(group.spec);
  const layers = [group.metadata.annotations, readTextMap(readRecord(metadata).annotations)].flatMap((annotations) =>
    parseYaml(annotations?.["proxy.istio.io/config"] ?? "").map(readRecord),
  );
  const all = [readRecord(mesh.defaultConfig), ...layers];
  const merged = Object.assign({}, ...all) as Json;
  const proxyMetadata = Object.assign({}, ...all.map((layer) => readTextMap(layer.proxyMetadata))) as Json;
  const address =
    readText(merged.discoveryAddress) || (isRevisioned(options.revision) ? `${controlPlaneHost(options)}:15012` : "");
  return {
    ...merged,
    ...(address === "" ? {} : { discoveryAddress: address }),
    ...(probe === undefined ? {} : { readinessProbe: probe }),
    proxyMetadata: { ...proxyMetadata, ...machineMetadata(group, { mesh, merged }, options) },
  };
}

function machineMetadata(
  group: KubeObject,
  { mesh, merged }: { readonly mesh: Json; readonly merged: Json },
  options: VmOptions,
): Readonly<Record<string, string>> {
  const { name, namespace = "" } = group.metadata;
  const { metadata, template } = readRecord(group.spec);
  const own = { ...readTextMap(readRecord(metadata).labels), ...readTextMap(readRecord(template).labels) };
  const [service, revision] = [canonicalName(own, name), canonicalRevision(own)];
  const labels = {
    ...own,
    "service.istio.io/canonical-name": service,
    "service.istio.io/canonical-revision": revision,
  };
  const ports = portsOf(group).map(([port, containerPort]) => ({ name: port, containerPort, protocol: "" }));
  return {
    CANONICAL_SERVICE: service,
    CANONICAL_REVISION: revision,
    POD_NAMESPACE: namespace,
    SERVICE_ACCOUNT: accountOf(group),
    TRUST_DOMAIN: readText(mesh.trustDomain),
    ISTIO_META_CLUSTER_ID: options.cluster,
    ISTIO_META_MESH_ID: readText(merged.meshId),
    ISTIO_META_NETWORK: readText(readRecord(template).network),
    ...(ports.length === 0 ? {} : { ISTIO_META_POD_PORTS: JSON.stringify(ports) }),
    ISTIO_META_WORKLOAD_NAME: name,
    ISTIO_METAJSON_LABELS: JSON.stringify(Object.fromEntries(sortBy(Object.entries(labels), ([key]) => key))),
    ...(options.captureDns ? { ISTIO_META_DNS_CAPTURE: "true" } : {}),
    ...(options.autoRegister ? { ISTIO_META_AUTO_REGISTER_GROUP: name } : {}),
  };
}

/** A machine must stay reachable by ssh, whatever becomes of its proxy; the agent's own ports answer for themselves. */
function captureEnvironment(
  group: KubeObject,
  proxyConfig: Json,
  options: VmOptions,
): Readonly<Record<string, string>> {
  const { name, namespace = "" } = group.metadata;
  const ports = portsOf(group).map(([, port]) => port);
  const status = readNumber(proxyConfig.statusPort) || 15020;
  const own = [22, 15090, 15021];
  return {
    ISTIO_INBOUND_PORTS: ports.length === 0 ? "*" : ports.join(","),
    ISTIO_NAMESPACE: namespace,
    ISTIO_SERVICE: `${name}.${namespace}`,
    ISTIO_SERVICE_CIDR: "*",
    ISTIO_LOCAL_EXCLUDE_PORTS: (own.includes(status) ? own : [...own, status]).join(","),
    SERVICE_ACCOUNT: accountOf(group),
    ...(isRevisioned(options.revision) ? { CA_ADDR: `${controlPlaneHost(options)}:15012` } : {}),
    ...addressEnvironment(options),
  };
}

function addressEnvironment({ internalIp, externalIp }: VmOptions): Readonly<Record<string, string>> {
  if (internalIp !== "") return { ISTIO_SVC_IP: internalIp };
  if (externalIp === "") return {};
  return { ISTIO_SVC_IP: externalIp, REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION: "true" };
}

function environmentText(variables: Readonly<Record<string, string>>): string {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}`);
  return `${lines.sort().join("\n")}\n`;
}

/** For a shell that reads the file. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`;
