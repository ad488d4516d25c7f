/** Kubernetes' own roles of users (`view`, `edit`, `admin`, `cluster-admin`), as far as their kinds are served here, as objects. */
import type { KubeObject } from "../model/index.ts";

export interface RuleText {
  readonly groups?: string;
  readonly resources?: string;
  readonly verbs: string;
  readonly urls?: string;
}

export const rbacVersion = "rbac.authorization.k8s.io/v1";
export const bootstrapLabels = { "kubernetes.io/bootstrapping": "rbac-defaults" };
export const read = "get list watch";
const change = "create delete deletecollection patch update";
export const meshGroups =
  "networking.istio.io security.istio.io telemetry.istio.io extensions.istio.io gateway.networking.k8s.io";

const list = (text: string): readonly string[] => text.split(" ").map((word) => (word === "core" ? "" : word));

export function rule({ groups, resources, verbs, urls }: RuleText): unknown {
  return urls === undefined
    ? { apiGroups: list(groups ?? ""), resources: list(resources ?? ""), verbs: list(verbs) }
    : { nonResourceURLs: list(urls), verbs: list(verbs) };
}

export function clusterRole(name: string, rules: readonly RuleText[], labels: object = {}): KubeObject {
  return {
    apiVersion: rbacVersion,
    kind: "ClusterRole",
    metadata: { name, labels: { ...bootstrapLabels, ...labels } },
    rules: rules.map(rule),
  };
}

const viewRules: readonly RuleText[] = [
  {
    groups: "core",
    resources:
      "configmaps endpoints events persistentvolumeclaims pods pods/log pods/status serviceaccounts services services/status namespaces namespaces/status limitranges resourcequotas resourcequotas/status bindings replicationcontrollers replicationcontrollers/scale",
    verbs: read,
  },
  {
    groups: "apps",
    resources:
      "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
    verbs: read,
  },
  { groups: "autoscaling", resources: "horizontalpodautoscalers horizontalpodautoscalers/status", verbs: read },
  { groups: "batch", resources: "cronjobs cronjobs/status jobs jobs/status", verbs: read },
  { groups: "policy", resources: "poddisruptionbudgets poddisruptionbudgets/status", verbs: read },
  { groups: "networking.k8s.io", resources: "ingresses ingresses/status networkpolicies", verbs: read },
  { groups: "discovery.k8s.io", resources: "endpointslices", verbs: read },
];

/** Not Endpoints nor EndpointSlices: who writes those leads others' traffic anywhere (CVE-2021-25740). */
const editRules: readonly RuleText[] = [
  {
    groups: "core",
    resources: "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy",
    verbs: read,
  },
  { groups: "core", resources: "serviceaccounts", verbs: "impersonate" },
  { groups: "core", resources: "pods pods/attach pods/exec pods/portforward pods/proxy", verbs: change },
  { groups: "core", resources: "pods/eviction serviceaccounts/token", verbs: "create" },
  {
    groups: "core",
    resources:
      "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
    verbs: change,
  },
  {
    groups: "apps",
    resources: "daemonsets deployments deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
    verbs: change,
  },
  { groups: "autoscaling", resources: "horizontalpodautoscalers", verbs: change },
  { groups: "batch", resources: "cronjobs jobs", verbs: change },
  { groups: "policy", resources: "poddisruptionbudgets", verbs: change },
  { groups: "networking.k8s.io", resources: "ingresses networkpolicies", verbs: change },
  { groups: "coordination.k8s.io", resources: "leases", verbs: `${read} ${change}` },
];

const adminRules: readonly RuleText[] = [
  { groups: "authorization.k8s.io", resources: "localsubjectaccessreviews", verbs: "create" },
  { groups: "rbac.authorization.k8s.io", resources: "rolebindings roles", verbs: `${read} ${change}` },
];

const labelOf = (role: string): string => `rbac.authorization.k8s.io/aggregate-to-${role}`;

function aggregated(name: string, from: string, labels: object = {}): KubeObject {
  return {
    ...clusterRole(name, [], labels),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [labelOf(from)]: "true" } }] },
  };
}

/** Each of the three has the one before it in it; whoever labels a role of their own adds to them. */
export const defaultRoles: readonly KubeObject[] = [
  clusterRole("cluster-admin", [
    { groups: "*", resources: "*", verbs: "*" },
    { urls: "*", verbs: "*" },
  ]),
  aggregated("view", "view", { [labelOf("edit")]: "true" }),
  aggregated("edit", "edit", { [labelOf("admin")]: "true" }),
  aggregated("admin", "admin"),
  clusterRole("system:aggregate-to-view", viewRules, { [labelOf("view")]: "true" }),
  clusterRole("system:aggregate-to-edit", editRules, { [labelOf("edit")]: "true" }),
  clusterRole("system:aggregate-to-admin", adminRules, { [labelOf("admin")]: "true" }),
  clusterRole(
    "system:aggregated-metrics-reader",
    [{ groups: "metrics.k8s.io", resources: "nodes pods", verbs: read }],
    {
      ...{ [labelOf("view")]: "true", [labelOf("edit")]: "true", [labelOf("admin")]: "true" },
    },
  ),
  clusterRole("fairlead-mesh-view", [{ groups: meshGroups, resources: "*", verbs: read }], {
    [labelOf("view")]: "true",
  }),
  clusterRole("fairlead-mesh-edit", [{ groups: meshGroups, resources: "*", verbs: change }], {
    [labelOf("edit")]: "true",
  }),
];
