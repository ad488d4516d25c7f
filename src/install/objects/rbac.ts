/** What the control plane may do: no wildcard verbs, and Secrets are written in its own namespace only. */
import { kinds } from "../../model/index.ts";
import { type Data, each, namespace, set, value, when } from "../expression.ts";
import { clusterWide, labels, serviceName } from "../names.ts";

const apiGroup = "rbac.authorization.k8s.io";
const apiVersion = `${apiGroup}/v1`;
const account = serviceName;

const secretNames = "global.imagePullSecrets";
export const pullSecrets: Data = when(set(value(secretNames)), [each(secretNames, (_key, name) => ({ name }))]);

const signers = "global.certSigners";

const read = ["get", "list", "watch"];
const write = ["create", "update", "patch", "delete"];

const rule = (group: string, resources: readonly string[], verbs: readonly string[]): Data => ({
  apiGroups: [group],
  resources,
  verbs,
});

const groups = [...new Set(kinds.map(({ group }) => group))];
const pluralsOf = (group: string): readonly string[] =>
  kinds.filter((kind) => kind.group === group).map(({ plural }) => plural);
const statusesOf = (group: string): readonly string[] =>
  kinds.filter((kind) => kind.group === group && kind.status).map(({ plural }) => `${plural}/status`);

const clusterRules: readonly Data[] = [
  ...groups.map((group) => rule(group, pluralsOf(group), read)),
  ...groups.flatMap((group) => {
    const statuses = statusesOf(group);
    return statuses.length > 0 ? [rule(group, statuses, ["get", "update", "patch"])] : [];
  }),
  rule("networking.istio.io", ["workloadentries"], write),
  rule("gateway.networking.k8s.io", ["gatewayclasses"], ["create", "update", "patch"]),
  rule("", ["pods", "nodes", "services", "namespaces", "secrets", "endpoints"], read),
  // The mesh's roots go to every namespace.
  rule("", ["configmaps"], [...read, "create", "update"]),
  rule("", ["services/status"], ["get", "update", "patch"]),
  // What is said of objects and of the control plane itself.
  rule("", ["events"], ["create", "patch"]),
  rule("discovery.k8s.io", ["endpointslices"], read),
  rule("networking.k8s.io", ["ingresses", "ingressclasses"], read),
  rule("networking.k8s.io", ["ingresses/status"], ["get", "update", "patch"]),
  rule("apiextensions.k8s.io", ["customresourcedefinitions"], read),
  rule(
    "admissionregistration.k8s.io",
    ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    [...read, "update"],
  ),
  rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
  rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
  // By these users without a token say who they are to its page.
  rule("certificates.k8s.io", ["certificatesigningrequests"], ["get"]),
  // Only where certificates come from signers of the API.
  when(
    set(value(signers)),
    rule(
      "certificates.k8s.io",
      ["certificatesigningrequests", "certificatesigningrequests/approval"],
      ["create", "get", "watch", "update", "delete"],
    ),
  ),
  when(set(value(signers)), {
    apiGroups: ["certificates.k8s.io"],
    resources: ["signers"],
    resourceNames: [each(signers, (_key, name) => name)],
    verbs: ["approve"],
  }),
];

/** For the Deployments of Gateway API gateways. */
const gatewayRules: readonly Data[] = [
  rule("apps", ["deployments"], [...read, ...write]),
  rule("", ["services", "serviceaccounts"], [...read, ...write]),
  rule("autoscaling", ["horizontalpodautoscalers"], [...read, ...write]),
  rule("policy", ["poddisruptionbudgets"], [...read, ...write]),
];

const ownRules: readonly Data[] = [
  rule("", ["secrets"], [...read, "create", "update", "patch"]),
  rule("coordination.k8s.io", ["leases"], [...read, "create", "update", "patch"]),
  // A bad object is offered, for show, to see that the webhook refuses it.
  rule("networking.istio.io", ["gateways"], ["create"]),
];

const clusterRole = (name: string, rules: readonly Data[]): readonly Data[] => [
  { apiVersion, kind: "ClusterRole", metadata: { name: clusterWide(name), labels: labels("istiod") }, rules },
  {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name: clusterWide(name), labels: labels("istiod") },
    roleRef: { apiGroup, kind: "ClusterRole", name: clusterWide(name) },
    subjects: [{ kind: "ServiceAccount", name: account, namespace }],
  },
];

/** An account that all revisions share names none of them: with one of them it must not go. */
const { "istio.io/rev": _, ...sharedLabels } = labels("istio-reader");

/** Another cluster's control plane reads this one with it. */
const reader: readonly Data[] = [
  {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "istio-reader-service-account", namespace, labels: sharedLabels },
  },
  {
    apiVersion,
    kind: "ClusterRole",
    metadata: { name: clusterWide("istio-reader-clusterrole"), labels: labels("istio-reader") },
    rules: [
      ...groups.map((group) => rule(group, pluralsOf(group), read)),
      rule("", ["pods", "nodes", "services", "namespaces", "secrets", "configmaps", "endpoints"], read),
      rule("discovery.k8s.io", ["endpointslices"], read),
      rule("apiextensions.k8s.io", ["customresourcedefinitions"], read),
      rule("authentication.k8s.io", ["tokenreviews"], ["create"]),
      rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    ],
  },
  {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata: { name: clusterWide("istio-reader-clusterrole"), labels: labels("istio-reader") },
    roleRef: { apiGroup, kind: "ClusterRole", name: clusterWide("istio-reader-clusterrole") },
    subjects: [{ kind: "ServiceAccount", name: "istio-reader-service-account", namespace }],
  },
];

export const rbac: readonly Data[] = [
  {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: {
      name: account,
      namespace,
      labels: labels("istiod"),
      annotations: value("pilot.serviceAccountAnnotations"),
    },
    imagePullSecrets: pullSecrets,
  },
  ...clusterRole("istiod-clusterrole", clusterRules),
  ...clusterRole("istiod-gateway-controller", gatewayRules),
  ...reader,
  { apiVersion, kind: "Role", metadata: { name: account, namespace, labels: labels("istiod") }, rules: ownRules },
  {
    apiVersion,
    kind: "RoleBinding",
    metadata: { name: account, namespace, labels: labels("istiod") },
    roleRef: { apiGroup, kind: "Role", name: account },
    subjects: [{ kind: "ServiceAccount", name: account, namespace }],
  },
];
