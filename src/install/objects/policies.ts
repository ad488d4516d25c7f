/** How the control plane scales, survives maintenance, is reached and is watched. */
import { type Data, type Expression, merge, namespace, set, value, when } from "../expression.ts";
import { labels, selector, serviceName } from "../names.ts";

const metadata = (name: Expression): Data => ({ name, namespace, labels: labels("istiod") });

export const autoscaler: Data = when(set(value("pilot.autoscaleEnabled")), {
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: metadata(serviceName),
  spec: {
    minReplicas: value("pilot.autoscaleMin"),
    maxReplicas: value("pilot.autoscaleMax"),
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: serviceName },
    metrics: [
      {
        type: "Resource",
        resource: {
          name: "cpu",
          target: { type: "Utilization", averageUtilization: value("pilot.cpu.targetAverageUtilization") },
        },
      },
    ],
  },
});

export const disruptionBudget: Data = when(set(value("global.defaultPodDisruptionBudget.enabled")), {
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: metadata(serviceName),
  spec: { minAvailable: 1, selector: { matchLabels: selector } },
});

const port = (number: number): Data => ({ protocol: "TCP", port: number });

/** Its own ports, for all: proxies, the API server and scrapers come from anywhere. Everything outbound stays open. */
export const networkPolicy: Data = when(set(value("global.networkPolicy.enabled")), {
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: metadata(serviceName),
  spec: {
    podSelector: { matchLabels: selector },
    policyTypes: ["Ingress", "Egress"],
    ingress: [{ ports: [8080, 15010, 15012, 15014, 15017].map(port) }],
    egress: [{}],
  },
});

export const serviceMonitor: Data = when(set(value("serviceMonitor.enabled")), {
  apiVersion: "monitoring.coreos.com/v1",
  kind: "ServiceMonitor",
  metadata: {
    name: serviceName,
    namespace,
    labels: merge(labels("istiod"), value("serviceMonitor.labels")),
  },
  spec: {
    selector: { matchLabels: { app: "istiod" } },
    endpoints: [{ port: "http-monitoring", interval: value("serviceMonitor.interval") }],
  },
});
