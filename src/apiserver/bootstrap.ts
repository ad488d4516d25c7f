/** What is in the store from the first start on: namespaces, roles of Kubernetes' own users, the control plane's role, the CustomResourceDefinitions. */
import type { KubeObject } from "../model/index.ts";
import { controlPlaneUser } from "./control-plane-user.ts";
import {
  bootstrapLabels,
  clusterRole,
  defaultRoles,
  meshGroups,
  type RuleText,
  rbacVersion,
  read,
  rule,
} from "./default-roles.ts";

/** Where Istio has its control plane, and Fairlead keeps what belongs to its own. */
const controlPlaneNamespace = "istio-system";

function clusterRoleBinding(
  name: string,
  role: string,
  kind: "Group" | "User",
  ...subjects: readonly string[]
): KubeObject {
  return {
    apiVersion: rbacVersion,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: bootstrapLabels },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: subjects.map((subject) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name: subject })),
  };
}

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
  // What runs for Gateway API Gateways.
  { groups: "apps", resources: "deployments", verbs: `${read} create patch update` },
  { groups: "core", resources: "services serviceaccounts", verbs: "create patch update" },
  { groups: "autoscaling", resources: "horizontalpodautoscalers", verbs: `${read} create patch update` },
  { groups: "policy", resources: "poddisruptionbudgets", verbs: `${read} create patch update` },
  { groups: "core", resources: "configmaps events", verbs: "create patch update" },
  { groups: "coordination.k8s.io", resources: "leases", verbs: `${read} create patch update` },
  {
    groups: "admissionregistration.k8s.io",
    resources: "mutatingwebhookconfigurations validatingwebhookconfigurations",
    verbs: `${read} patch update`,
  },
  { groups: "authentication.k8s.io", resources: "tokenreviews", verbs: "create" },
  { groups: "authorization.k8s.io", resources: "subjectaccessreviews", verbs: "create" },
  // By these users without a token say who they are to its page.
  { groups: "certificates.k8s.io", resources: "certificatesigningrequests", verbs: "get" },
];

/** Secrets are read everywhere (gateways name them), but written only at home: the authority's own. */
const ownSecrets: readonly KubeObject[] = [
  {
    apiVersion: rbacVersion,
    kind: "Role",
    metadata: { name: "fairlead-control-plane", namespace: controlPlaneNamespace, labels: bootstrapLabels },
    rules: [
      rule({ groups: "core", resources: "secrets", verbs: "create patch update" }),
      // For show only: it sees by a Gateway that must be refused that its webhook answers.
      rule({ groups: "networking.istio.io", resources: "gateways", verbs: "create" }),
    ],
  },
  {
    apiVersion: rbacVersion,
    kind: "RoleBinding",
    metadata: { name: "fairlead-control-plane", namespace: controlPlaneNamespace, labels: bootstrapLabels },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "fairlead-control-plane" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: controlPlaneUser }],
  },
];

export const bootstrapObjects: readonly KubeObject[] = [
  ...["default", "kube-system", "kube-public", controlPlaneNamespace].map(
    (name): KubeObject => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }),
  ),
  ...defaultRoles,
  clusterRole("system:discovery", [
    { urls: "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/", verbs: "get" },
  ]),
  clusterRole("system:public-info-viewer", [{ urls: "/healthz /livez /readyz /version /version/", verbs: "get" }]),
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
  clusterRoleBinding(
    "system:public-info-viewer",
    "system:public-info-viewer",
    "Group",
    "system:authenticated",
    "system:unauthenticated",
  ),
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
