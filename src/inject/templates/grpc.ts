/** Applications that are xDS clients themselves: with an agent that fetches certificates, or with a bootstrap file only. */
import { proxyImage } from "../image.ts";
import { annotationsOf, containersOf, type EnvVar, type Fields, proxyName } from "../pod.ts";
import { optional, type TemplateInput } from "./input.ts";
import {
  appContainersEnv,
  configEnv,
  identityEnv,
  meshEnv,
  metadataEnv,
  placeEnv,
  probeEnv,
  value,
} from "./proxy-env.ts";
import {
  bootstrapVolume,
  canonicalLabels,
  dataVolumes,
  defaultContainer,
  mount,
  mtlsCertsVolume,
  proxyArgs,
  proxyMounts,
  pullPolicy,
  pullSecrets,
  readiness,
  resources,
  revisionAnnotation,
  tokenVolumes,
  userVolumes,
  workloadCertsMount,
  workloadCertsVolume,
} from "./shared.ts";

/** Probes reach the application directly: no proxy stands before it. */
const keepProbes = { "sidecar.istio.io/rewriteAppHTTPProbers": "false" };

export function grpcAgent(input: TemplateInput): Fields {
  const apps = containersOf(input.pod).filter(({ name }) => name !== proxyName);
  return {
    metadata: {
      labels: canonicalLabels(input),
      annotations: { ...revisionAnnotation(input), ...defaultContainer(input), ...keepProbes },
    },
    spec: {
      containers: [agentContainer(input), ...apps.map(({ name }) => xdsClient(input, name))],
      volumes: agentVolumes(input),
      ...pullSecrets(input),
    },
  };
}

function agentContainer(input: TemplateInput): Fields {
  const wait = ["pilot-agent", "wait", "--url=http://localhost:15020/healthz/ready"];
  return {
    name: "istio-proxy",
    image: proxyImage(input.values, input.proxyConfig, annotationsOf(input.pod)),
    ports: [{ containerPort: 15020, protocol: "TCP", name: "mesh-metrics" }],
    args: proxyArgs(input, "sidecar"),
    lifecycle: { postStart: { exec: { command: wait } } },
    env: agentEnv(input),
    ...pullPolicy(input),
    ...optional("readinessProbe", readiness(input, 15020)),
    ...optional("resources", resources(input)),
    volumeMounts: [
      ...proxyMounts(input, { folder: "istio-xds", asked: true }),
      ...userVolumes(input, "userVolumeMount"),
    ],
  };
}

function agentEnv(input: TemplateInput): readonly EnvVar[] {
  return [
    value("ISTIO_META_GENERATOR", "grpc"),
    value("OUTPUT_CERTS", "/var/lib/istio/data"),
    ...probeEnv(input),
    ...identityEnv(input),
    ...configEnv(input),
    appContainersEnv(input),
    ...placeEnv(input),
    ...meshEnv(input),
    ...metadataEnv(input),
    // Names are resolved by xDS, so there is nothing to capture.
    value("ISTIO_META_DNS_CAPTURE", "false"),
    value("DISABLE_ENVOY", "true"),
  ];
}

function xdsClient(input: TemplateInput, name: string): Fields {
  return {
    name,
    env: [
      value("GRPC_XDS_EXPERIMENTAL_SECURITY_SUPPORT", "true"),
      value("GRPC_XDS_BOOTSTRAP", "/etc/istio/proxy/grpc-bootstrap.json"),
    ],
    volumeMounts: [
      mount("istio-data", "/var/lib/istio/data"),
      mount("istio-xds", "/etc/istio/proxy"),
      workloadCertsMount(input),
    ],
  };
}

function agentVolumes(input: TemplateInput): readonly Fields[] {
  return [
    { name: "workload-socket", emptyDir: null },
    workloadCertsVolume(input, null),
    ...bootstrapVolume(input),
    { name: "istio-xds", emptyDir: { medium: "Memory" } },
    ...dataVolumes,
    ...tokenVolumes(input),
    ...mtlsCertsVolume(input),
    ...userVolumes(input, "userVolume"),
  ];
}

const bootstrapFolder = mount("grpc-io-proxyless-bootstrap", "/var/lib/grpc/data/");

export function grpcSimple(input: TemplateInput): Fields {
  const field = (name: string, fieldPath: string): EnvVar => ({ name, valueFrom: { fieldRef: { fieldPath } } });
  return {
    metadata: { annotations: keepProbes },
    spec: {
      initContainers: [
        {
          name: "grpc-bootstrap-init",
          image: "busybox:1.28",
          volumeMounts: [bootstrapFolder],
          env: [
            field("INSTANCE_IP", "status.podIP"),
            field("POD_NAME", "metadata.name"),
            field("POD_NAMESPACE", "metadata.namespace"),
            value("ISTIO_NAMESPACE", `${input.values.istioNamespace}\n`),
          ],
          command: ["sh", "-c", bootstrapScript],
        },
      ],
      containers: containersOf(input.pod).map(({ name }) => ({
        name,
        env: [
          value("GRPC_XDS_BOOTSTRAP", "/var/lib/grpc/data/bootstrap.json"),
          value("GRPC_GO_LOG_VERBOSITY_LEVEL", "99"),
          value("GRPC_GO_LOG_SEVERITY_LEVEL", "info"),
        ],
        volumeMounts: [bootstrapFolder],
      })),
      volumes: [{ name: "grpc-io-proxyless-bootstrap", emptyDir: {} }],
    },
  };
}

/** What a gRPC client needs to find the control plane; byte for byte as Istio has it, since tools compare Pods. */
const bootstrapScript = `NODE_ID="sidecar~\${INSTANCE_IP}~\${POD_NAME}.\${POD_NAMESPACE}~cluster.local"
SERVER_URI="dns:///istiod.\${ISTIO_NAMESPACE}.svc:15010"
echo '
{
  "xds_servers": [
    {
      "server_uri": "'\${SERVER_URI}'",
      "channel_creds": [{"type": "insecure"}],
      "server_features" : ["xds_v3"]
    }
  ],
  "node": {
    "id": "'\${NODE_ID}'",
    "metadata": {
      "GENERATOR": "grpc"
    }
  }
}' > /var/lib/grpc/data/bootstrap.json`;
