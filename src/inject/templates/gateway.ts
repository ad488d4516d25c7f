/** The gateway: a proxy that is the application; the Pod's own `istio-proxy` container says the rest. */
import { proxyImage } from "../image.ts";
import { annotationsOf, type EnvVar, type Fields } from "../pod.ts";
import { optional, type TemplateInput } from "./input.ts";
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
} from "./proxy-env.ts";
import {
  bootstrapVolume,
  canonicalLabels,
  dataVolumes,
  defaultContainer,
  lowPorts,
  mtlsCertsVolume,
  proxyArgs,
  proxyMounts,
  pullPolicy,
  pullSecrets,
  revisionAnnotation,
  tokenVolumes,
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
    volumeMounts: proxyMounts(input, { folder: "istio-envoy", credentials: true, asked: true }),
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
    ...placeEnv(input, { interception: defaultInterception(input) }),
    ...bootstrapEnv(input),
    ...meshEnv(input),
    ...metadataEnv(input),
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
