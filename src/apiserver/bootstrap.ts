/** What is in the store from the first start on: namespaces, roles of Kubernetes' own users, the control plane's role, the CustomResourceDefinitions. */
import type { KubeObject } from "../model/index.ts";

export const controlPlaneUser = "fairlead:control-plane";

interface RuleText {
  readonly groups?: string;
  readonly resources?: string;
  readonly verbs: string;
  readonly urls?: string;
}

const rbac = "rbac.authorization.k8s.io/v1";
const list = (text: string): readonly string[] => text.split(" ").map((word) => (word === "core" ? "" : word));
const rule = ({ groups, resources, verbs, urls }: RuleText): unknown =>
  urls === undefined
    ? { apiGroups: list(groups ?? ""), resources: list(resources ?? ""), verbs: list(verbs) }
    : { nonResourceURLs: list(urls), verbs: list(verbs) };

/** Where Istio has its control plane, and Fairlead keeps what belongs to its own. */
const controlPlaneNamespace = "istio-system";

const labels = { "kubernetes.io/bootstrapping": "rbac-defaults" };

function clusterRole(name: string, rules: readonly RuleText[]): KubeObject {
  return { apiVersion: rbac, kind: "ClusterRole", metadata: { name, labels }, rules: rules.map(rule) };
}

function clusterRoleBinding(name: string, role: string, kind: "Group" | "User", subject: string): KubeObject {
  return {
    apiVersion: rbac,
    kind: "ClusterRoleBinding",
    metadata: { name, labels },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind, name: subject }],
  };
}

const read = "get list watch";
const change = "create delete deletecollection patch update";
const userKinds = "configmaps endpoints events pods services serviceaccounts";
const meshGroups =
  "networking.istio.io security.istio.io telemetry.istio.io extensions.istio.io gateway.networking.k8s.io";
const viewRules: readonly RuleText[] = [
  { groups: "core", resources: `${userKinds} namespaces`, verbs: read },
  {
    groups: "apps batch autoscaling policy discovery.k8s.io networking.k8s.io coordination.k8s.io",
    resources: "*",
    verbs: read,
  },
  { groups: meshGroups, resources: "*", verbs: read },
];
const editRules: readonly RuleText[] = [
  ...viewRules,
  { groups: "core", resources: `${userKinds} secrets`, verbs: `${read} ${change}` },
  { groups: "core", resources: "serviceaccounts/token pods/eviction", verbs: "create" },
  {
    groups: "apps batch autoscaling policy discovery.k8s.io networking.k8s.io coordination.k8s.io",
    resources: "*",
    verbs: change,
  },
  { groups: meshGroups, resources: "*", verbs: change },
];

/** Exactly what the control plane does with the API, and nothing else. */
const controlPlaneRules: readonly RuleText[] = [
  {
    groups: "core",
    resources: "services endpoints pods nodes namespaces secrets configmaps serviceaccounts",
    verbs: read,
  },
  { groups: "discovery.k8s.io", resources: "endpointslices", verbs: read },
  { groups: "networking.k8s.io", resources: "ingresses ingressclasses", verbs: read },
  { groups: "networking.k8s.io", resources: "ingresses/status", verbs: "get patch update" },
  { groups: "apiextensions.k8s.io", resources: "customresourcedefinitions", verbs: read },
  { groups: meshGroups, resources: "*", verbs: read },
  { groups: meshGroups, resources: "*/status", verbs: "get patch update" },
  { groups: "gateway.networking.k8s.io", resources: "gatewayclasses", verbs: "create patch update" },
  { groups: "networking.istio.io", resources: "workloadentries", verbs: "create patch update delete" },
  { groups: "gateway.networking.k8s.io", resources: "gatewayclasses", verbs: "create" },
  { groups: "core", resources: "configmaps events", verbs: "create patch update" },
  { groups: "coordination.k8s.io", resources: "leases", verbs: `${read} create patch update` },
  {
    groups: "admissionregistration.k8s.io",
    resources: "mutatingwebhookconfigurations validatingwebhookconfigurations",
    verbs: `${read} patch update`,
  },
  { groups: "authentication.k8s.io", resources: "tokenreviews", verbs: "create" },
  { groups: "authorization.k8s.io", resources: "subjectaccessreviews", verbs: "create" },
];

/** Secrets are read everywhere (gateways name them), but written only at home: the authority's own. */
const ownSecrets: readonly KubeObject[] = [
  {
    apiVersion: rbac,
    kind: "Role",
    metadata: { name: "fairlead-control-plane", namespace: controlPlaneNamespace, labels },
    rules: [
      rule({ groups: "core", resources: "secrets", verbs: "create patch update" }),
      // For show only: it sees by a Gateway that must be refused that its webhook answers.
      rule({ groups: "networking.istio.io", resources: "gateways", verbs: "create" }),
    ],
  },
  {
    apiVersion: rbac,
    kind: "RoleBinding",
    metadata: { name: "fairlead-control-plane", namespace: controlPlaneNamespace, labels },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "fairlead-control-plane" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: controlPlaneUser }],
  },
];

export const bootstrapObjects: readonly KubeObject[] = [
  ...["default", "kube-system", "kube-public", controlPlaneNamespace].map(
    (name): KubeObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }),
  ),
  clusterRole("cluster-admin", [
    { groups: "*", resources: "*", verbs: "*" },
    { urls: "*", verbs: "*" },
  ]),
  clusterRole("admin", [
    ...editRules,
    { groups: "rbac.authorization.k8s.io", resources: "roles rolebindings", verbs: `${read} ${change}` },
  ]),
  clusterRole("edit", editRules),
  clusterRole("view", viewRules),
  clusterRole("system:discovery", [
    { urls: "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/", verbs: "get" },
  ]),
  clusterRole("system:basic-user", [
    { groups: "authorization.k8s.io", resources: "selfsubjectaccessreviews selfsubjectrulesreviews", verbs: "create" },
    { groups: "authentication.k8s.io", resources: "selfsubjectreviews", verbs: "create" },
  ]),
  clusterRole("system:service-account-issuer-discovery", [
    { urls: "/.well-known/openid-configuration /openid/v1/jwks", verbs: "get" },
  ]),
  clusterRole("fairlead-control-plane", controlPlaneRules),
  clusterRoleBinding("cluster-admin", "cluster-admin", "Group", "system:masters"),
  clusterRoleBinding("system:discovery", "system:discovery", "Group", "system:authenticated"),
  clusterRoleBinding("system:basic-user", "system:basic-user", "Group", "system:authenticated"),
  clusterRoleBinding(
    "system:service-account-issuer-discovery",
    "system:service-account-issuer-discovery",
    "Group",
    "system:serviceaccounts",
  ),
  clusterRoleBinding("fairlead-control-plane", "fairlead-control-plane", "User", controlPlaneUser),
  ...ownSecrets,
];
