/** The kinds of Kubernetes itself that are served, as data. */
import { type ApiKind, podStreams, standardVerbs } from "./kind.ts";
import { columnsFor } from "./table-core.ts";

interface Extras {
  readonly plural?: string;
  readonly short?: readonly string[];
  readonly categories?: readonly string[];
  readonly cluster?: boolean;
  readonly status?: boolean;
  readonly subresources?: readonly string[];
  readonly generation?: boolean;
  readonly createOnUpdate?: boolean;
  readonly verbs?: readonly string[];
  readonly notRun?: boolean;
  readonly warning?: string;
}

const packages: Readonly<Record<string, string>> = {
  "": "io.k8s.api.core",
  "discovery.k8s.io": "io.k8s.api.discovery",
  "coordination.k8s.io": "io.k8s.api.coordination",
  "networking.k8s.io": "io.k8s.api.networking",
  "rbac.authorization.k8s.io": "io.k8s.api.rbac",
  "authorization.k8s.io": "io.k8s.api.authorization",
  "authentication.k8s.io": "io.k8s.api.authentication",
  "admissionregistration.k8s.io": "io.k8s.api.admissionregistration",
  "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
  apps: "io.k8s.api.apps",
  batch: "io.k8s.api.batch",
  autoscaling: "io.k8s.api.autoscaling",
  policy: "io.k8s.api.policy",
  "storage.k8s.io": "io.k8s.api.storage",
  "certificates.k8s.io": "io.k8s.api.certificates",
};

function define(group: string, version: string, kind: string, extras: Extras = {}): ApiKind {
  const singular = kind.toLowerCase();
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    plural: extras.plural ?? `${singular}s`,
    singular,
    namespaced: extras.cluster !== true,
    shortNames: extras.short ?? [],
    categories: extras.categories ?? [],
    verbs: extras.verbs ?? standardVerbs,
    status: extras.status === true,
    subresources: [...(extras.status ? ["status"] : []), ...(extras.subresources ?? [])],
    createOnUpdate: extras.createOnUpdate === true,
    generation: extras.generation === true,
    columns: columnsFor(group, kind),
    warning: extras.notRun ? notRun(kind) : extras.warning,
    schema: { definition: `${packages[group] ?? group}.${version}.${kind}` },
  };
}

function notRun(kind: string): string {
  return `${kind} is stored, but nothing runs it here: there is no kubelet and no controller. Use \`fairlead run --name NAME --port PORT -- COMMAND\` to run a workload`;
}

const all = ["all"];
const only = { verbs: ["create"] };
const byPut = { createOnUpdate: true };
const workload: Extras = { status: true, generation: true, categories: all, notRun: true };

export const coreKinds: readonly ApiKind[] = [
  define("", "v1", "Namespace", {
    short: ["ns"],
    cluster: true,
    status: true,
    subresources: ["finalize"],
    verbs: standardVerbs.filter((v) => v !== "deletecollection"),
  }),
  define("", "v1", "Service", { short: ["svc"], categories: all, status: true, ...byPut }),
  define("", "v1", "Endpoints", { plural: "endpoints", short: ["ep"], ...byPut }),
  define("", "v1", "Pod", {
    ...{ short: ["po"], categories: all, status: true },
    subresources: ["eviction", ...podStreams],
  }),
  define("", "v1", "Node", { short: ["no"], cluster: true, status: true }),
  define("", "v1", "Secret"),
  define("", "v1", "ConfigMap", { short: ["cm"] }),
  define("", "v1", "ServiceAccount", { short: ["sa"], subresources: ["token"] }),
  define("", "v1", "Event", { short: ["ev"], ...byPut }),
  define("discovery.k8s.io", "v1", "EndpointSlice", { generation: true }),
  define("coordination.k8s.io", "v1", "Lease", byPut),
  define("networking.k8s.io", "v1", "Ingress", { plural: "ingresses", short: ["ing"], status: true, generation: true }),
  define("networking.k8s.io", "v1", "IngressClass", { plural: "ingressclasses", cluster: true, generation: true }),
  define("rbac.authorization.k8s.io", "v1", "Role", byPut),
  define("rbac.authorization.k8s.io", "v1", "RoleBinding", byPut),
  define("rbac.authorization.k8s.io", "v1", "ClusterRole", { cluster: true, ...byPut }),
  define("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", { cluster: true, ...byPut }),
  define("authorization.k8s.io", "v1", "SubjectAccessReview", { cluster: true, ...only }),
  define("authorization.k8s.io", "v1", "SelfSubjectAccessReview", { cluster: true, ...only }),
  define("authorization.k8s.io", "v1", "SelfSubjectRulesReview", { cluster: true, ...only }),
  define("authorization.k8s.io", "v1", "LocalSubjectAccessReview", only),
  define("authentication.k8s.io", "v1", "TokenReview", { cluster: true, ...only }),
  define("authentication.k8s.io", "v1", "SelfSubjectReview", { cluster: true, ...only }),
  define("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", {
    cluster: true,
    generation: true,
    categories: ["api-extensions"],
  }),
  define("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", {
    cluster: true,
    generation: true,
    categories: ["api-extensions"],
  }),
  define("apiextensions.k8s.io", "v1", "CustomResourceDefinition", {
    short: ["crd", "crds"],
    cluster: true,
    status: true,
    generation: true,
    categories: ["api-extensions"],
  }),
  define("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", {
    plural: "validatingadmissionpolicies",
    cluster: true,
    status: true,
    generation: true,
    warning: "ValidatingAdmissionPolicy is stored, but not enforced here; use a ValidatingWebhookConfiguration",
  }),
  define("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", { cluster: true, generation: true }),
  define("networking.k8s.io", "v1", "NetworkPolicy", {
    plural: "networkpolicies",
    short: ["netpol"],
    generation: true,
    warning: "NetworkPolicy is stored, but not enforced here; use an AuthorizationPolicy",
  }),
  define("batch", "v1", "CronJob", { ...workload, short: ["cj"] }),
  define("apps", "v1", "Deployment", { ...workload, short: ["deploy"], subresources: ["scale"] }),
  define("apps", "v1", "ReplicaSet", { ...workload, short: ["rs"], subresources: ["scale"] }),
  define("apps", "v1", "StatefulSet", { ...workload, short: ["sts"], subresources: ["scale"] }),
  define("apps", "v1", "DaemonSet", { ...workload, short: ["ds"] }),
  define("batch", "v1", "Job", workload),
  define("autoscaling", "v2", "HorizontalPodAutoscaler", { ...workload, short: ["hpa"] }),
  define("autoscaling", "v1", "HorizontalPodAutoscaler", { ...workload, short: ["hpa"] }),
  define("storage.k8s.io", "v1", "CSIDriver", {
    cluster: true,
    warning: "CSIDriver is stored, but nothing mounts volumes here",
  }),
  define("certificates.k8s.io", "v1", "CertificateSigningRequest", {
    short: ["csr"],
    cluster: true,
    status: true,
    subresources: ["approval"],
  }),
  define("policy", "v1", "PodDisruptionBudget", { ...workload, categories: [], short: ["pdb"] }),
];

export const customResourceDefinitions = "apiextensions.k8s.io/customresourcedefinitions";
