/** The control plane's Deployment and the Service that proxies, the API server and people reach it by. */
import {
  asText,
  type Data,
  type Expression,
  each,
  equal,
  merge,
  named,
  namespace,
  not,
  set,
  text,
  value,
  when,
} from "../expression.ts";
import { isNamed, istioLabel, labels, revisionName, selector, serviceName } from "../names.ts";
import { pullSecrets } from "./rbac.ts";

const hub = when(set(value("pilot.hub")), value("pilot.hub"), value("global.hub"));
const tag = when(set(asText(value("pilot.tag"))), value("pilot.tag"), value("global.tag"));
const variant = when(set(value("global.variant")), text("-", value("global.variant")), "");

/** A name with a slash in it is an image by itself. */
const image: Expression = named(
  "image",
  when(
    { is: "contains", of: value("pilot.image"), text: "/" },
    value("pilot.image"),
    text(hub, "/", value("pilot.image"), ":", tag, variant),
  ),
);

export const deploymentNames: readonly Expression[] = [image];

const field = (name: string, fieldPath: string): Data => ({ name, valueFrom: { fieldRef: { fieldPath } } });

const env: Data = [
  { name: "REVISION", value: revisionName },
  { name: "PILOT_CERT_PROVIDER", value: value("global.pilotCertProvider") },
  field("POD_NAME", "metadata.name"),
  field("POD_NAMESPACE", "metadata.namespace"),
  field("SERVICE_ACCOUNT", "spec.serviceAccountName"),
  { name: "PILOT_ENABLE_ANALYSIS", value: asText(value("global.istiod.enableAnalysis")) },
  {
    name: "CLUSTER_ID",
    value: when(set(value("global.multiCluster.clusterName")), value("global.multiCluster.clusterName"), "Kubernetes"),
  },
  { name: "PLATFORM", value: value("global.platform") },
  each("pilot.env", (name, setting) => ({ name, value: asText(setting) })),
];

const args: Data = [
  "discovery",
  "--monitoringAddr=:15014",
  // Reached by a port-forward alone; each user sees what the API lets them.
  "--dashboardAddr=127.0.0.1:15015",
  text("--log_output_level=", value("global.logging.level")),
  when(set(value("global.logAsJson")), "--log_as_json"),
  "--domain",
  value("global.proxy.clusterDomain"),
  "--keepaliveMaxServerConnectionAge",
  value("pilot.keepaliveMaxServerConnectionAge"),
  each("pilot.extraContainerArgs", (_key, argument) => argument),
];

const port = (name: string, containerPort: number): Data => ({ name, containerPort, protocol: "TCP" });

const mounts: readonly (readonly [name: string, path: string])[] = [
  ["istio-token", "/var/run/secrets/tokens"],
  ["cacerts", "/etc/cacerts"],
  ["istio-kubeconfig", "/var/run/secrets/remote"],
  ["istio-csr-dns-cert", "/var/run/secrets/istiod/tls"],
  ["istio-csr-ca-configmap", "/var/run/secrets/istiod/ca"],
];

const secret = (name: string, secretName: string): Data => ({ name, secret: { secretName, optional: true } });

const container: Data = {
  name: "discovery",
  image,
  imagePullPolicy: when(set(value("global.imagePullPolicy")), value("global.imagePullPolicy")),
  args,
  env,
  ports: [
    port("http-debug", 8080),
    port("grpc-xds", 15010),
    port("tls-xds", 15012),
    port("https-webhooks", 15017),
    port("http-monitoring", 15014),
  ],
  // Listing a large cluster takes its time at the first start.
  startupProbe: { httpGet: { path: "/ready", port: 8080 }, periodSeconds: 1, failureThreshold: 120 },
  readinessProbe: { httpGet: { path: "/ready", port: 8080 }, periodSeconds: 3, timeoutSeconds: 5 },
  livenessProbe: { httpGet: { path: "/version", port: 15014 }, periodSeconds: 20, timeoutSeconds: 10 },
  resources: value("pilot.resources"),
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    runAsUser: when(not(equal(value("global.platform"), "openshift")), 1337),
    runAsGroup: when(not(equal(value("global.platform"), "openshift")), 1337),
    seccompProfile: when(set(value("pilot.seccompProfile")), value("pilot.seccompProfile")),
  },
  volumeMounts: [
    { name: "local-certs", mountPath: "/var/run/secrets/istio-dns" },
    { name: "tmp", mountPath: "/tmp" },
    ...mounts.map(([name, mountPath]) => ({ name, mountPath, readOnly: true })),
  ],
};

const volumes: Data = [
  { name: "local-certs", emptyDir: { medium: "Memory" } },
  { name: "tmp", emptyDir: {} },
  {
    name: "istio-token",
    projected: {
      sources: [
        {
          serviceAccountToken: {
            path: "istio-token",
            expirationSeconds: 43200,
            audience: value("global.sds.token.aud"),
          },
        },
      ],
    },
  },
  secret("cacerts", "cacerts"),
  secret("istio-kubeconfig", "istio-kubeconfig"),
  secret("istio-csr-dns-cert", "istiod-tls"),
  { name: "istio-csr-ca-configmap", configMap: { name: "istio-ca-root-cert", optional: true } },
];

/** Replicas on different nodes, where there are any. */
const apart: Data = {
  podAntiAffinity: {
    preferredDuringSchedulingIgnoredDuringExecution: [
      {
        weight: 100,
        podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: selector } },
      },
    ],
  },
};

const optional = (path: string): Data => when(set(value(path)), value(path));

export const deployment: Data = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: {
    name: serviceName,
    namespace,
    labels: merge({ ...labels("istiod"), istio: istioLabel }, value("pilot.deploymentLabels")),
  },
  spec: {
    // An autoscaler's choice must not be undone by the next upgrade.
    replicas: when(not(set(value("pilot.autoscaleEnabled"))), value("pilot.replicaCount")),
    strategy: {
      rollingUpdate: {
        maxSurge: value("pilot.rollingMaxSurge"),
        maxUnavailable: value("pilot.rollingMaxUnavailable"),
      },
    },
    selector: { matchLabels: when(isNamed, { app: "istiod", "istio.io/rev": revisionName }, { istio: "pilot" }) },
    template: {
      metadata: {
        labels: merge(
          {
            ...labels("istiod"),
            istio: istioLabel,
            "sidecar.istio.io/inject": "false",
            "istio.io/dataplane-mode": "none",
          },
          value("pilot.podLabels"),
        ),
        annotations: merge(
          { "prometheus.io/port": "15014", "prometheus.io/scrape": "true", "sidecar.istio.io/inject": "false" },
          value("pilot.podAnnotations"),
        ),
      },
      spec: {
        serviceAccountName: serviceName,
        priorityClassName: optional("global.priorityClassName"),
        imagePullSecrets: pullSecrets,
        nodeSelector: optional("pilot.nodeSelector"),
        tolerations: optional("pilot.tolerations"),
        affinity: when(set(value("pilot.affinity")), value("pilot.affinity"), apart),
        topologySpreadConstraints: optional("pilot.topologySpreadConstraints"),
        securityContext: { fsGroup: when(not(equal(value("global.platform"), "openshift")), 1337) },
        containers: [container],
        volumes,
      },
    },
  },
};

const servicePort = (name: string, number: number, targetPort?: number): Data => ({
  name,
  port: number,
  protocol: "TCP",
  ...(targetPort === undefined ? {} : { targetPort }),
});

const ports: Data = [
  servicePort("grpc-xds", 15010),
  servicePort("https-dns", 15012),
  servicePort("https-webhook", 443, 15017),
  servicePort("http-monitoring", 15014),
];

const serviceOf = (name: Expression, further: { readonly [label: string]: Data } = {}): Data => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: {
    name,
    namespace,
    labels: { ...labels("istiod"), istio: istioLabel, ...further },
    annotations: value("pilot.serviceAnnotations"),
  },
  spec: { ports, selector },
});

export const service: Data = serviceOf(serviceName);

/** By the name of a tag, too, for proxies that are told to connect to the tag's control plane. */
export const tagServices: Data = each("revisionTags", (_key, tag) =>
  serviceOf(text("istiod-revision-tag-", tag), { "istio.io/tag": tag }),
);
