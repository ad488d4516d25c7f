/** The webhook configurations: which writes and which Pods the API server asks the control plane about. */
import { istioKinds } from "../../model/index.ts";
import { all, type Data, type Expression, each, equal, namespace, not, set, text, value, when } from "../expression.ts";
import { clusterWide, labels, revised, revisionName, serviceName } from "../names.ts";

const apiVersion = "admissionregistration.k8s.io/v1";

/** Where the API server finds the control plane: a Service, or a URL outside a cluster. */
type WebhookClient = (path: string) => Data;

const byService: WebhookClient = (path) => ({ service: { name: serviceName, namespace, path, port: 443 } });

const expression = (key: string, operator: string, ...values: readonly Data[]): Data => ({
  key,
  operator,
  ...(values.length > 0 ? { values } : {}),
});

const [rev, injection, inject] = ["istio.io/rev", "istio-injection", "sidecar.istio.io/inject"];
const notRefused = expression(inject, "NotIn", "false");
const absent = (key: string): Data => expression(key, "DoesNotExist");

interface Selection {
  readonly name: string;
  readonly namespaces: readonly Data[];
  readonly pods: readonly Data[];
}

/** Namespaces and Pods that name a revision, or one of its tags. */
const byRevision = (revision: Data): readonly Selection[] => [
  {
    name: "rev.namespace.sidecar-injector.istio.io",
    namespaces: [expression(rev, "In", revision), absent(injection)],
    pods: [notRefused],
  },
  {
    name: "rev.object.sidecar-injector.istio.io",
    namespaces: [absent(rev), absent(injection)],
    pods: [notRefused, expression(rev, "In", revision)],
  },
];

/** Namespaces and Pods that ask for injection without saying by whom. */
const byDefault: readonly Selection[] = [
  {
    name: "namespace.sidecar-injector.istio.io",
    namespaces: [expression(injection, "In", "enabled")],
    pods: [notRefused],
  },
  {
    name: "object.sidecar-injector.istio.io",
    namespaces: [absent(injection), absent(rev)],
    pods: [expression(inject, "In", "true"), absent(rev)],
  },
];

const systemNamespaces = ["kube-system", "kube-public", "kube-node-lease", "local-path-storage"];

/** Every namespace that does not say otherwise, where the installation wants that. */
const everywhere: Selection = {
  name: "auto.sidecar-injector.istio.io",
  namespaces: [absent(injection), absent(rev), expression("kubernetes.io/metadata.name", "NotIn", ...systemNamespaces)],
  pods: [absent(inject), absent(rev)],
};

const webhook = ({ name, namespaces, pods }: Selection, client: WebhookClient, reinvocationPolicy: Data): Data => ({
  name,
  clientConfig: client("/inject"),
  rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
  namespaceSelector: { matchExpressions: namespaces },
  objectSelector: { matchExpressions: pods },
  failurePolicy: "Fail",
  reinvocationPolicy,
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
});

const reinvocation = value("sidecarInjectorWebhook.reinvocationPolicy");
const ours = (selection: Selection): Data => webhook(selection, byService, reinvocation);
const isDefault = not(set(value("revision")));

export const injector: Data = {
  apiVersion,
  kind: "MutatingWebhookConfiguration",
  metadata: { name: revised("istio-sidecar-injector"), labels: labels("sidecar-injector") },
  webhooks: [
    ...byRevision(revisionName).map(ours),
    ...byDefault.map((selection) => when(isDefault, ours(selection))),
    when(set(value("sidecarInjectorWebhook.enableNamespacesByDefault")), ours(everywhere)),
  ],
};

/** A tag is another name for a revision: its configuration selects by the one and calls the other. */
const tagWebhook = (tag: Expression): Data => ({
  apiVersion,
  kind: "MutatingWebhookConfiguration",
  metadata: {
    name: text("istio-revision-tag-", tag),
    labels: { ...labels("sidecar-injector"), "istio.io/tag": tag },
  },
  webhooks: [
    ...byRevision(tag).map(ours),
    ...byDefault.map((selection) => when(equal(tag, "default"), ours(selection))),
  ],
});

export const tags: Data = each("revisionTags", (_key, tag) => tagWebhook(tag));

/** For a control plane that is reached by URL, with the settings of a fresh installation. */
export const injectorByUrl = (url: string): Data => ({
  apiVersion,
  kind: "MutatingWebhookConfiguration",
  metadata: { name: "istio-sidecar-injector", labels: { app: "sidecar-injector", [rev]: "default" } },
  webhooks: [...byRevision("default"), ...byDefault].map((selection) =>
    webhook(selection, (path) => ({ url: `${url}${path}` }), "Never"),
  ),
});

const validation = (name: string, objects: readonly Data[]): Data => ({
  name,
  clientConfig: byService("/validate"),
  rules: [
    {
      operations: ["CREATE", "UPDATE"],
      apiGroups: [...new Set(istioKinds.map(({ group }) => group))],
      apiVersions: ["*"],
      resources: ["*"],
    },
  ],
  objectSelector: { matchExpressions: objects },
  // The control plane turns it to Fail when it has seen that it is asked.
  failurePolicy: "Ignore",
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
});

const validates = set(value("global.configValidation"));

/** Objects that name the revision. */
export const validator: Data = when(validates, {
  apiVersion,
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: clusterWide("istio-validator"), labels: { ...labels("istiod"), istio: "istiod" } },
  webhooks: [validation("rev.validation.istio.io", [expression(rev, "In", revisionName)])],
});

/** Objects that name none: one revision of the cluster judges them. */
export const defaultValidator: Data = when(all(validates, equal(value("defaultRevision"), revisionName)), {
  apiVersion,
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: "istiod-default-validator", labels: { ...labels("istiod"), istio: "istiod" } },
  webhooks: [validation("validation.istio.io", [absent(rev)])],
});
