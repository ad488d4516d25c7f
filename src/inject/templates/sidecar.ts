/** The sidecar: capture of traffic set up first, then the proxy beside the application or, native, before it. */
import { compareText } from "../../lib/index.ts";
import { proxyImage } from "../image.ts";
import { annotationsOf, type EnvVar, type Fields, labelsOf } from "../pod.ts";
import { cniAnnotations } from "./cni-annotations.ts";
import { initContainer } from "./init-container.ts";
import { annotation, interceptionOf, isNative, optional, statusPortOf, type TemplateInput } from "./input.ts";
import { otelAttributes } from "./otel-attributes.ts";
import {
  appContainersEnv,
  bootstrapEnv,
  complianceEnv,
  configEnv,
  cpuLimit,
  defaultInterception,
  identityEnv,
  memoryLimit,
  meshEnv,
  metadataEnv,
  placeEnv,
  probeEnv,
  value,
  workloadName,
} from "./proxy-env.ts";
import {
  bootstrapVolume,
  canonicalLabels,
  dataVolumes,
  defaultContainer,
  jsonAnnotation,
  mount,
  mtlsCertsVolume,
  proxyArgs,
  proxyMounts,
  pullPolicy,
  pullSecrets,
  readiness,
  resources,
  revisionAnnotation,
  startup,
  tokenVolumes,
  userVolumes,
  workloadCertsVolume,
} from "./shared.ts";

export function sidecar(input: TemplateInput): Fields {
  const native = isNative(input);
  const captures = interceptionOf(input) === "NONE" ? [] : [initContainer(input)];
  const proxy = proxyContainer(input);
  return {
    metadata: {
      labels: labels(input),
      annotations: { ...revisionAnnotation(input), ...defaultContainer(input), ...cniAnnotations(input) },
    },
    spec: {
      initContainers: native ? [...captures, proxy] : captures,
      ...(native ? {} : { containers: [proxy] }),
      volumes: volumes(input),
      ...pullSecrets(input),
    },
  };
}

function labels(input: TemplateInput): Fields {
  const given = labelsOf(input.pod);
  const canonical = canonicalLabels(input);
  const name = canonical["service.istio.io/canonical-name"] ?? "";
  return {
    "security.istio.io/tlsMode": given["security.istio.io/tlsMode"] || "istio",
    ...(input.proxyConfig.proxyMetadata?.ISTIO_META_ENABLE_HBONE === "true"
      ? { "networking.istio.io/tunnel": given["networking.istio.io/tunnel"] || "http" }
      : {}),
    ...canonical,
    // A label has 63 characters, and ends as it begins with a letter or digit.
    "service.istio.io/canonical-name": name.slice(0, 63).replace(/^[-_.]+|[-_.]+$/g, ""),
  };
}

function proxyContainer(input: TemplateInput): Fields {
  const { values } = input;
  const lifecycle = lifecycleOf(input);
  return {
    name: "istio-proxy",
    image: proxyImage(values, input.proxyConfig, annotationsOf(input.pod)),
    ...(isNative(input) ? { restartPolicy: "Always" } : {}),
    ports: [{ containerPort: 15090, protocol: "TCP", name: "http-envoy-prom" }],
    args: [
      ...proxyArgs(input, "sidecar"),
      ...(values.proxy.outlierLogPath === "" ? [] : [`--outlierLogPath=${values.proxy.outlierLogPath}`]),
    ],
    ...optional("lifecycle", lifecycle),
    env: env(input),
    ...pullPolicy(input),
    ...optional("startupProbe", startup(input)),
    ...optional("readinessProbe", readiness(input, 15021)),
    securityContext: securityContext(input),
    ...optional("resources", resources(input)),
    volumeMounts: volumeMounts(input),
  };
}

/** The application waits for the proxy; or, native, the proxy drains while the application ends. */
function lifecycleOf(input: TemplateInput): Fields | undefined {
  const { values, proxyConfig } = input;
  const exec = (...command: readonly string[]): Fields => ({ exec: { command: ["pilot-agent", ...command] } });
  if (values.proxy.lifecycle) return values.proxy.lifecycle;
  if (isNative(input)) return { preStop: exec("request", `--debug-port=${statusPortOf(input)}`, "POST", "drain") };
  return proxyConfig.holdApplicationUntilProxyStarts || values.holdApplication
    ? { postStart: exec("wait") }
    : undefined;
}

function env(input: TemplateInput): readonly EnvVar[] {
  const attributes = otelAttributes(input);
  return [
    ...probeEnv(input),
    ...identityEnv(input),
    cpuLimit,
    ...configEnv(input),
    appContainersEnv(input),
    memoryLimit,
    ...complianceEnv(input),
    ...placeEnv(input, {
      interception: interceptionOf(input) || defaultInterception(input),
      workload: workloadName(input),
    }),
    ...bootstrapEnv(input),
    ...meshEnv(input),
    ...datadogEnv(input),
    ...(attributes === "" ? [] : [value("OTEL_RESOURCE_ATTRIBUTES", attributes)]),
    ...metadataEnv(input),
  ];
}

/** Settings of Datadog's tracer, as its own annotation has them. */
function datadogEnv({ values, pod }: TemplateInput): readonly EnvVar[] {
  const name = "apm.datadoghq.com/env";
  const text = annotationsOf(pod)[name];
  if (values.proxy.tracer !== "datadog" || text === undefined) return [];
  return Object.entries(jsonAnnotation(name, text))
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, setting]) => value(key, String(setting)));
}

function securityContext(input: TemplateInput): Fields {
  const { proxyConfig, proxyGroup, proxyUser, values } = input;
  const { privileged, seccompProfile, capNetBindService } = values.proxy;
  const seccomp = optional("seccompProfile", seccompProfile);
  if (proxyConfig.proxyMetadata?.IPTABLES_TRACE_LOGGING === "true")
    return {
      allowPrivilegeEscalation: true,
      capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
      privileged: true,
      readOnlyRootFilesystem: true,
      runAsGroup: proxyGroup,
      runAsNonRoot: false,
      runAsUser: 0,
      ...seccomp,
    };
  const add = [
    ...(interceptionOf(input) === "TPROXY" ? ["NET_ADMIN"] : []),
    ...(annotation(input, "sidecar.istio.io/capNetBindService", capNetBindService) === "true"
      ? ["NET_BIND_SERVICE"]
      : []),
  ];
  return {
    allowPrivilegeEscalation: privileged,
    capabilities: { ...(add.length > 0 ? { add } : {}), drop: ["ALL"] },
    privileged,
    readOnlyRootFilesystem: true,
    // A capability is only of use to root.
    ...(add.length > 0
      ? { runAsNonRoot: false, runAsUser: 0, runAsGroup: 1337 }
      : { runAsNonRoot: true, runAsUser: proxyUser, runAsGroup: proxyGroup }),
    ...seccomp,
  };
}

const usesLightstep = ({ values, proxyConfig }: TemplateInput): boolean =>
  values.proxy.tracer === "lightstep" && proxyConfig.tracing?.tlsSettings !== undefined;

function lightstepMount(input: TemplateInput): readonly Fields[] {
  if (!usesLightstep(input)) return [];
  const file = input.proxyConfig.tracing?.tlsSettings?.caCertificates ?? "";
  return [{ ...mount("lightstep-certs", file.slice(0, file.lastIndexOf("/") + 1)), readOnly: true }];
}

function volumeMounts(input: TemplateInput): readonly Fields[] {
  return [
    ...proxyMounts(input, { folder: "istio-envoy", credentials: true, revoked: true, asked: true }),
    ...lightstepMount(input),
    ...userVolumes(input, "userVolumeMount"),
  ];
}

function volumes(input: TemplateInput): readonly Fields[] {
  return [
    { name: "workload-socket", emptyDir: null },
    { name: "credential-socket", emptyDir: null },
    workloadCertsVolume(input, null),
    ...bootstrapVolume(input),
    { name: "istio-envoy", emptyDir: { medium: "Memory" } },
    ...dataVolumes,
    ...tokenVolumes(input),
    { name: "istio-ca-crl", configMap: { name: input.values.crlConfigMap, optional: true } },
    ...mtlsCertsVolume(input),
    ...userVolumes(input, "userVolume"),
    ...(usesLightstep(input)
      ? [{ name: "lightstep-certs", secret: { optional: true, secretName: "lightstep.cacert" } }]
      : []),
  ];
}
