/** A template's input in; the environment of the proxy's container, in the order in which Istio has it, out. */
import { goJson, isRecord, readList } from "../../lib/index.ts";
import { type Container, containersOf, type EnvVar, labelsOf, proxyName } from "../pod.ts";
import { proxyConfigText } from "../proxy-config-text.ts";
import { hasAnnotation, type TemplateInput, trustDomainOf } from "./input.ts";

export const value = (name: string, text: string): EnvVar => ({ name, value: text });

const field = (name: string, fieldPath: string): EnvVar => ({ name, valueFrom: { fieldRef: { fieldPath } } });

const resource = (name: string, of: string): EnvVar => ({
  name,
  valueFrom: { resourceFieldRef: { resource: of, divisor: "1" } },
});

export const cpuLimit = resource("ISTIO_CPU_LIMIT", "limits.cpu");
export const memoryLimit = resource("GOMEMLIMIT", "limits.memory");

/** Set for proxies whose applications listen on loopback only. */
export function probeEnv({ meshConfig }: TemplateInput): readonly EnvVar[] {
  return meshConfig.inboundTrafficPolicy?.mode === "LOCALHOST"
    ? [value("REWRITE_PROBE_LEGACY_LOCALHOST_DESTINATION", "true")]
    : [];
}

/** Who the proxy is and where it finds its certificate. */
export function identityEnv({ values }: TemplateInput): readonly EnvVar[] {
  const service = values.revision === "" ? "istiod" : `istiod-${values.revision}`;
  return [
    value("PILOT_CERT_PROVIDER", values.certProvider),
    value("CA_ADDR", values.caAddress || `${service}.${values.istioNamespace}.svc:15012`),
    field("POD_NAME", "metadata.name"),
    field("POD_NAMESPACE", "metadata.namespace"),
    field("INSTANCE_IP", "status.podIP"),
    field("SERVICE_ACCOUNT", "spec.serviceAccountName"),
    field("HOST_IP", "status.hostIP"),
  ];
}

export function configEnv(input: TemplateInput): readonly EnvVar[] {
  return [
    value("PROXY_CONFIG", `${proxyConfigText(input.proxyConfig)}\n`),
    value("ISTIO_META_POD_PORTS", portsText(containersOf(input.pod))),
  ];
}

export const appNames = (input: TemplateInput): readonly string[] =>
  containersOf(input.pod)
    .map(({ name }) => name)
    .filter((name) => name !== proxyName);

export const appContainersEnv = (input: TemplateInput): EnvVar =>
  value("ISTIO_META_APP_CONTAINERS", appNames(input).join(","));

/** One port a line; the agent reads it as JSON. */
function portsText(containers: readonly Container[]): string {
  const ports = containers.flatMap(({ ports: list }) => readList(list).filter(isRecord));
  const lines = ports.map(({ name, hostPort, containerPort, protocol, hostIP }, i) => {
    const known = { name: name || undefined, hostPort: hostPort || undefined, containerPort: containerPort ?? 0 };
    const text = goJson({ ...known, protocol: protocol || undefined, hostIP: hostIP || undefined });
    return `    ${i > 0 ? "," : ""}${text}\n`;
  });
  return `[\n${lines.join("")}]`;
}

export function complianceEnv({ compliancePolicy }: TemplateInput): readonly EnvVar[] {
  if (compliancePolicy === "") return [];
  const policy = value("COMPLIANCE_POLICY", compliancePolicy);
  return compliancePolicy === "fips-140-3" ? [policy, value("GODEBUG", "fips140=only")] : [policy];
}

interface PlaceEnvOptions {
  /** How traffic is captured; absent where none is. */
  readonly interception?: string | undefined;
  /** The mesh's own where absent. */
  readonly network?: string;
  /** Under which name the workload shows; its owner's where absent. */
  readonly workload?: string;
}

/** Where the workload runs, whose it is, and in which mesh. */
export function placeEnv(
  input: TemplateInput,
  { interception, network, workload }: PlaceEnvOptions = {},
): readonly EnvVar[] {
  const { values } = input;
  const ownNetwork = network ?? values.network;
  return [
    value("ISTIO_META_CLUSTER_ID", values.cluster || "Kubernetes"),
    field("ISTIO_META_NODE_NAME", "spec.nodeName"),
    ...(interception === undefined ? [] : [value("ISTIO_META_INTERCEPTION_MODE", interception)]),
    ...(ownNetwork === "" ? [] : [value("ISTIO_META_NETWORK", ownNetwork)]),
    ...ownerEnv(input, workload),
  ];
}

export const defaultInterception = ({ proxyConfig }: TemplateInput): string =>
  proxyConfig.interceptionMode ?? "REDIRECT";

/** Under which name and owner the workload shows in telemetry. */
function ownerEnv({ owner }: TemplateInput, workload = owner.name): readonly EnvVar[] {
  const { apiVersion, kind, name, namespace } = owner;
  const path = `kubernetes://apis/${apiVersion}/namespaces/${namespace || "default"}/${kind.toLowerCase()}s/${name}`;
  return [
    ...(workload === "" ? [] : [value("ISTIO_META_WORKLOAD_NAME", workload)]),
    ...(apiVersion === "" || name === "" ? [] : [value("ISTIO_META_OWNER", path)]),
  ];
}

export const workloadName = (input: TemplateInput): string =>
  labelsOf(input.pod)["service.istio.io/workload-name"] || input.owner.name;

export const bootstrapEnv = (input: TemplateInput): readonly EnvVar[] =>
  hasAnnotation(input, "sidecar.istio.io/bootstrapOverride")
    ? [value("ISTIO_BOOTSTRAP_OVERRIDE", "/etc/istio/custom-bootstrap/custom_bootstrap.json")]
    : [];

export function meshEnv(input: TemplateInput): readonly EnvVar[] {
  const trustDomain = trustDomainOf(input);
  const mesh = input.values.meshId || trustDomain;
  return [
    ...(mesh === "" ? [] : [value("ISTIO_META_MESH_ID", mesh)]),
    ...(trustDomain === "" ? [] : [value("TRUST_DOMAIN", trustDomain)]),
  ];
}

export const metadataEnv = ({ proxyConfig }: TemplateInput): readonly EnvVar[] =>
  Object.entries(proxyConfig.proxyMetadata ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, text]) => value(name, text));
