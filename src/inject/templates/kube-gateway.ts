/** The Pod of a gateway that runs for a Gateway API Gateway: all of it is said here, as data. */
import { proxyImage } from "../image.ts";
import { annotationsOf, type Fields } from "../pod.ts";
import { annotation, optional, type TemplateInput } from "./input.ts";
import {
  configEnv,
  cpuLimit,
  defaultInterception,
  identityEnv,
  memoryLimit,
  meshEnv,
  metadataEnv,
  placeEnv,
  value,
} from "./proxy-env.ts";
import {
  dataVolumes,
  lowPorts,
  proxyMounts,
  pullPolicy,
  pullSecrets,
  tokenVolumes,
  workloadCertsVolume,
} from "./shared.ts";

/** `input.pod` has the annotations of the Gateway; `network` is what its infrastructure's labels say. */
export function kubeGatewayPod(input: TemplateInput, network: string): Fields {
  const { values } = input;
  const { proxy } = values;
  const container = {
    name: "istio-proxy",
    image: proxyImage(values, input.proxyConfig, annotationsOf(input.pod)),
    ...optional("resources", proxy.resources),
    ...pullPolicy(input),
    securityContext: {
      capabilities: { drop: ["ALL"] },
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      runAsUser: input.proxyUser,
      runAsGroup: input.proxyGroup,
      runAsNonRoot: true,
    },
    ports: [
      { containerPort: 15020, name: "metrics", protocol: "TCP" },
      { containerPort: 15021, name: "status-port", protocol: "TCP" },
      { containerPort: 15090, name: "http-envoy-prom", protocol: "TCP" },
    ],
    args: args(input),
    ...optional("lifecycle", proxy.lifecycle),
    env: env(input, network),
    startupProbe: probe(30, 1, 1),
    readinessProbe: probe(4, 0, 15),
    volumeMounts: proxyMounts(input, { folder: "istio-envoy", credentials: true }),
  };
  return {
    securityContext: values.gatewaySecurityContext ?? {
      ...lowPorts,
      ...optional("seccompProfile", values.gatewaySeccompProfile),
    },
    containers: [container],
    volumes: [
      { name: "workload-socket", emptyDir: {} },
      { name: "credential-socket", emptyDir: {} },
      workloadCertsVolume(input, {}),
      { name: "istio-envoy", emptyDir: { medium: "Memory" } },
      ...dataVolumes,
      ...tokenVolumes(input),
    ],
    ...pullSecrets(input),
  };
}

const probe = (failureThreshold: number, initialDelaySeconds: number, periodSeconds: number): Fields => ({
  failureThreshold,
  httpGet: { path: "/healthz/ready", port: 15021, scheme: "HTTP" },
  initialDelaySeconds,
  periodSeconds,
  successThreshold: 1,
  timeoutSeconds: 1,
});

/** Flag and value apart, as Istio's template has them for this workload. */
function args(input: TemplateInput): readonly string[] {
  const { values } = input;
  const { proxy } = values;
  const level = (flag: string, name: string, fallback: string): readonly string[] => [
    flag,
    annotation(input, `sidecar.istio.io/${name}`, fallback),
  ];
  return [
    ...["proxy", "router", "--domain", `$(POD_NAMESPACE).svc.${proxy.clusterDomain}`],
    ...level("--proxyLogLevel", "logLevel", proxy.logLevel),
    ...level("--proxyComponentLogLevel", "componentLogLevel", proxy.componentLogLevel),
    ...level("--log_output_level", "agentLogLevel", values.logLevel),
    ...(values.stsPort === "0" || values.stsPort === "" ? [] : [`--stsPort=${values.stsPort}`]),
    ...(values.logAsJson ? ["--log_as_json"] : []),
  ];
}

function env(input: TemplateInput, network: string): readonly Fields[] {
  const [proxyConfig] = configEnv(input);
  return [
    ...identityEnv(input),
    cpuLimit,
    ...(proxyConfig ? [proxyConfig] : []),
    value("ISTIO_META_POD_PORTS", "[]"),
    value("ISTIO_META_APP_CONTAINERS", ""),
    memoryLimit,
    ...placeEnv(input, { interception: defaultInterception(input), ...(network === "" ? {} : { network }) }),
    ...meshEnv(input),
    ...metadataEnv(input),
    ...(network === "" ? [] : [value("ISTIO_META_REQUESTED_NETWORK_VIEW", network)]),
  ];
}
