/** The gateway: a proxy that is the application; the Pod's own `istio-proxy` container says the rest. */
import { proxyImage } from "../image.ts";
import { annotationsOf, type EnvVar, type Fields } from "../pod.ts";
import { optional, type TemplateInput } from "./input.ts";
import {
  appContainersEnv,
  bootstrapEnv,
  clusterEnv,
  complianceEnv,
  configEnv,
  cpuLimit,
  identityEnv,
  memoryLimit,
  meshEnv,
  metadataEnv,
  networkEnv,
  nodeName,
  ownerEnv,
  value,
} from "./proxy-env.ts";
import {
  bootstrapMount,
  bootstrapVolume,
  canonicalLabels,
  dataVolumes,
  defaultContainer,
  issuedByControlPlane,
  lowPorts,
  mount,
  mtlsCertsMount,
  mtlsCertsVolume,
  proxyArgs,
  pullPolicy,
  pullSecrets,
  revisionAnnotation,
  tokenVolumes,
  workloadCertsMount,
  workloadCertsVolume,
} from "./shared.ts";

export function gateway(input: TemplateInput): Fields {
  const { values } = input;
  const { proxy } = values;
  const container = {
    name: "istio-proxy",
    image: proxyImage(values, input.proxyConfig, annotationsOf(input.pod)),
    ports: [{ containerPort: 15090, protocol: "TCP", name: "http-envoy-prom" }],
    args: proxyArgs(input, "router"),
    ...optional("lifecycle", proxy.lifecycle),
    securityContext: { runAsUser: input.proxyUser, runAsGroup: input.proxyGroup },
    env: env(input),
    ...pullPolicy(input),
    readinessProbe: {
      httpGet: { path: "/healthz/ready", port: 15021 },
      initialDelaySeconds: Number(proxy.readinessInitialDelaySeconds),
      periodSeconds: Number(proxy.readinessPeriodSeconds),
      timeoutSeconds: 3,
      failureThreshold: Number(proxy.readinessFailureThreshold),
    },
    volumeMounts: volumeMounts(input),
  };
  return {
    metadata: {
      labels: canonicalLabels(input),
      annotations: { ...revisionAnnotation(input), ...defaultContainer(input) },
    },
    spec: {
      securityContext: values.gatewaySecurityContext ?? lowPorts,
      containers: [container],
      volumes: volumes(input),
      ...pullSecrets(input),
    },
  };
}

function env(input: TemplateInput): readonly EnvVar[] {
  return [
    ...identityEnv(input),
    cpuLimit,
    ...configEnv(input),
    memoryLimit,
    ...complianceEnv(input),
    appContainersEnv(input),
    clusterEnv(input),
    nodeName,
    value("ISTIO_META_INTERCEPTION_MODE", input.proxyConfig.interceptionMode ?? "REDIRECT"),
    ...networkEnv(input),
    ...ownerEnv(input),
    ...bootstrapEnv(input),
    ...meshEnv(input),
    ...metadataEnv(input),
  ];
}

function volumeMounts(input: TemplateInput): readonly Fields[] {
  return [
    mount("workload-socket", "/var/run/secrets/workload-spiffe-uds"),
    mount("credential-socket", "/var/run/secrets/credential-uds"),
    workloadCertsMount(input),
    ...(issuedByControlPlane(input) ? [mount("istiod-ca-cert", "/var/run/secrets/istio")] : []),
    mount("istio-data", "/var/lib/istio/data"),
    ...bootstrapMount(input),
    mount("istio-envoy", "/etc/istio/proxy"),
    mount("istio-token", "/var/run/secrets/tokens"),
    ...mtlsCertsMount(input),
    mount("istio-podinfo", "/etc/istio/pod"),
  ];
}

function volumes(input: TemplateInput): readonly Fields[] {
  return [
    { name: "workload-socket", emptyDir: null },
    { name: "credential-socket", emptyDir: {} },
    workloadCertsVolume(input, {}),
    ...bootstrapVolume(input),
    { name: "istio-envoy", emptyDir: { medium: "Memory" } },
    ...dataVolumes,
    ...tokenVolumes(input),
    ...mtlsCertsVolume(input),
  ];
}
