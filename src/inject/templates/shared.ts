/** Pieces that several templates have in common: labels, annotations, resources, probes, volumes and their mounts. */
import { compareText, FairleadError, isRecord, parseJson } from "../../lib/index.ts";
import { canonicalName, canonicalRevision } from "../../model/index.ts";
import { badAnnotation } from "../annotation-error.ts";
import { annotationsOf, type Fields, labelsOf, specOf } from "../pod.ts";
import { annotation, hasAnnotation, optional, statusPortOf, type TemplateInput } from "./input.ts";
import { appNames } from "./proxy-env.ts";

export function canonicalLabels(input: TemplateInput): Readonly<Record<string, string>> {
  // An empty label counts as none.
  const labels = Object.fromEntries(Object.entries(labelsOf(input.pod)).filter(([, text]) => text !== ""));
  return {
    "service.istio.io/canonical-name": canonicalName(labels, input.owner.name),
    "service.istio.io/canonical-revision": canonicalRevision(labels),
  };
}

export const revisionAnnotation = (input: TemplateInput): Fields => ({ "istio.io/rev": input.revision || "default" });

/** So that `kubectl logs` and `exec` go on to mean the application. */
export function defaultContainer(input: TemplateInput): Fields {
  const [first] = appNames(input);
  const names = ["kubectl.kubernetes.io/default-logs-container", "kubectl.kubernetes.io/default-container"];
  if (first === undefined) return {};
  return Object.fromEntries(names.filter((name) => !hasAnnotation(input, name)).map((name) => [name, first]));
}

/** Any of the four annotations replaces the configured resources as a whole. */
export function resources(input: TemplateInput): Fields | undefined {
  const annotations = annotationsOf(input.pod);
  const part = (cpu: string, memory: string): Fields | undefined => {
    const given = { cpu: annotations[`sidecar.istio.io/${cpu}`], memory: annotations[`sidecar.istio.io/${memory}`] };
    const set = Object.entries(given).filter(([, amount]) => amount !== undefined);
    return set.length === 0 ? undefined : Object.fromEntries(set);
  };
  const requests = part("proxyCPU", "proxyMemory");
  const limits = part("proxyCPULimit", "proxyMemoryLimit");
  if (!requests && !limits) return input.values.proxy.resources;
  return { ...optional("requests", requests), ...optional("limits", limits) };
}

export const pullPolicy = ({ values }: TemplateInput): Fields => optional("imagePullPolicy", values.imagePullPolicy);

export const pullSecrets = ({ values }: TemplateInput): Fields =>
  values.imagePullSecrets.length === 0 ? {} : { imagePullSecrets: values.imagePullSecrets.map((name) => ({ name })) };

/** Arguments that every agent is started with. */
export function proxyArgs(input: TemplateInput, type: "sidecar" | "router"): readonly string[] {
  const { values } = input;
  const { proxy } = values;
  return [
    "proxy",
    type,
    "--domain",
    `$(POD_NAMESPACE).svc.${proxy.clusterDomain}`,
    `--proxyLogLevel=${annotation(input, "sidecar.istio.io/logLevel", proxy.logLevel)}`,
    `--proxyComponentLogLevel=${annotation(input, "sidecar.istio.io/componentLogLevel", proxy.componentLogLevel)}`,
    logLevel(input),
    ...(values.stsPort === "0" || values.stsPort === "" ? [] : [`--stsPort=${values.stsPort}`]),
    ...(values.logAsJson ? ["--log_as_json"] : []),
  ];
}

export const logLevel = (input: TemplateInput): string =>
  `--log_output_level=${annotation(input, "sidecar.istio.io/agentLogLevel", input.values.logLevel)}`;

const probe = (port: number): Fields => ({ httpGet: { path: "/healthz/ready", port } });

/** Undefined where the status port is switched off. */
export function readiness(input: TemplateInput, port: number): Fields | undefined {
  if (statusPortOf(input) === "0") return undefined;
  const { proxy } = input.values;
  const number = (name: string, fallback: string): number =>
    Number(annotation(input, `readiness.status.sidecar.istio.io/${name}`, fallback));
  return {
    ...probe(port),
    initialDelaySeconds: number("initialDelaySeconds", proxy.readinessInitialDelaySeconds),
    periodSeconds: number("periodSeconds", proxy.readinessPeriodSeconds),
    timeoutSeconds: 3,
    failureThreshold: number("failureThreshold", proxy.readinessFailureThreshold),
  };
}

export function startup(input: TemplateInput): Fields | undefined {
  const { startupFailureThreshold } = input.values.proxy;
  if (statusPortOf(input) === "0" || startupFailureThreshold === undefined) return undefined;
  return {
    ...probe(15021),
    initialDelaySeconds: 0,
    periodSeconds: 1,
    timeoutSeconds: 3,
    failureThreshold: startupFailureThreshold,
  };
}

const gke = "GkeWorkloadCertificate";
export const mount = (name: string, mountPath: string): Fields => ({ name, mountPath });

export const workloadCertsMount = ({ values }: TemplateInput): Fields =>
  values.caName === gke
    ? { ...mount("gke-workload-certificate", "/var/run/secrets/workload-spiffe-credentials"), readOnly: true }
    : mount("workload-certs", "/var/run/secrets/workload-spiffe-credentials");

export interface Mounted {
  /** Where what the proxy is told lies, and the sockets that hand out certificates. */
  readonly folder: "istio-envoy" | "istio-xds";
  readonly credentials?: boolean;
  readonly revoked?: boolean;
  /** What annotations and settings of a Pod may ask for on top. */
  readonly asked?: boolean;
}

/** What every proxy's container sees, in the order in which Istio has it. */
export function proxyMounts(input: TemplateInput, { folder, credentials, revoked, asked }: Mounted): readonly Fields[] {
  return [
    mount("workload-socket", "/var/run/secrets/workload-spiffe-uds"),
    ...(credentials ? [mount("credential-socket", "/var/run/secrets/credential-uds")] : []),
    workloadCertsMount(input),
    ...(issuedByControlPlane(input) ? [mount("istiod-ca-cert", "/var/run/secrets/istio")] : []),
    ...(issuedByControlPlane(input) && revoked ? [mount("istio-ca-crl", "/var/run/secrets/istio/crl")] : []),
    mount("istio-data", "/var/lib/istio/data"),
    ...(asked && folder === "istio-envoy" ? bootstrapMount(input) : []),
    mount(folder, "/etc/istio/proxy"),
    mount("istio-token", "/var/run/secrets/tokens"),
    ...(asked ? mtlsCertsMount(input) : []),
    mount("istio-podinfo", "/etc/istio/pod"),
  ];
}

/** Kubernetes reads a volume without a source as an empty folder; null stands for that in what Istio prints. */
export function workloadCertsVolume({ values }: TemplateInput, emptyDir: Fields | null): Fields {
  if (values.caName !== gke) return { name: "workload-certs", emptyDir };
  return { name: "gke-workload-certificate", csi: { driver: "workloadcertificates.security.cloud.google.com" } };
}

/** Ports below 1024 without a capability. */
export const lowPorts = { sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }] };

const issuedByControlPlane = ({ values }: TemplateInput): boolean => values.certProvider === "istiod";

const mtlsCertsMount = ({ values }: TemplateInput): readonly Fields[] =>
  values.mountMtlsCerts ? [{ ...mount("istio-certs", "/etc/certs/"), readOnly: true }] : [];

const bootstrapMount = (input: TemplateInput): readonly Fields[] =>
  hasAnnotation(input, bootstrapOverride) ? [mount("custom-bootstrap-volume", "/etc/istio/custom-bootstrap")] : [];

const bootstrapOverride = "sidecar.istio.io/bootstrapOverride";

export const bootstrapVolume = (input: TemplateInput): readonly Fields[] =>
  hasAnnotation(input, bootstrapOverride)
    ? [{ name: "custom-bootstrap-volume", configMap: { name: annotation(input, bootstrapOverride, "") } }]
    : [];

export const dataVolumes: readonly Fields[] = [
  { name: "istio-data", emptyDir: {} },
  {
    name: "istio-podinfo",
    downwardAPI: {
      items: ["labels", "annotations"].map((path) => ({ path, fieldRef: { fieldPath: `metadata.${path}` } })),
    },
  },
];

export function tokenVolumes(input: TemplateInput): readonly Fields[] {
  const { values } = input;
  const serviceAccountToken = { path: "istio-token", expirationSeconds: 43200, audience: values.tokenAudience };
  return [
    { name: "istio-token", projected: { sources: [{ serviceAccountToken }] } },
    ...(issuedByControlPlane(input) ? [{ name: "istiod-ca-cert", ...rootSource(input) }] : []),
  ];
}

function rootSource({ values }: TemplateInput): Fields {
  if (!values.clusterTrustBundles) return { configMap: { name: values.trustBundleName || "istio-ca-root-cert" } };
  const name = `istio.io:istiod-ca:${values.trustBundleName || "root-cert"}`;
  return { projected: { sources: [{ clusterTrustBundle: { name, path: "root-cert.pem" } }] } };
}

export function mtlsCertsVolume({ values, pod }: TemplateInput): readonly Fields[] {
  if (!values.mountMtlsCerts) return [];
  const account = specOf(pod).serviceAccountName;
  const secretName = `istio.${typeof account === "string" && account !== "" ? account : "default"}`;
  return [{ name: "istio-certs", secret: { optional: true, secretName } }];
}

/** Annotations that hold JSON, objects by name or in a list: the user's own volumes and where they are mounted. */
export function userVolumes(input: TemplateInput, annotationName: "userVolume" | "userVolumeMount"): readonly Fields[] {
  const name = `sidecar.istio.io/${annotationName}`;
  const text = annotationsOf(input.pod)[name];
  if (text === undefined) return [];
  const parsed = jsonAnnotation(name, text);
  return Object.entries(parsed)
    .sort(([a], [b]) => (Array.isArray(parsed) ? 0 : compareText(a, b)))
    .map(([volume, fields]) => {
      if (!isRecord(fields)) throw badAnnotation(name, text, `"${volume}" is not an object`);
      return { name: volume, ...fields };
    });
}

/** An annotation whose value is a JSON object or list. */
export function jsonAnnotation(name: string, text: string): object {
  try {
    const parsed = parseJson(text);
    if (typeof parsed === "object" && parsed !== null) return parsed;
  } catch (error) {
    throw badAnnotation(name, text, FairleadError.from(error).message);
  }
  throw badAnnotation(name, text, "not a JSON object");
}
