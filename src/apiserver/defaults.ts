/** Kubernetes' own defaults for its own kinds, as far as clients look at them: an object in, the object with defaults out. */
import { isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import { type Fields, recordAt } from "./access.ts";
import type { ApiKind } from "./kind.ts";

type Fill = (fields: Fields, object: KubeObject) => Fields;

/** Given fields win over the defaults. */
const over = (defaults: Fields, given: Fields): Fields => ({ ...defaults, ...given });
const each = (value: unknown, fill: (item: Fields) => Fields): unknown =>
  Array.isArray(value) ? value.map((item) => (isRecord(item) ? fill(item) : item)) : value;
const within = (fields: Fields, name: string, fill: (inner: Fields) => Fields): Fields =>
  isRecord(fields[name]) ? { ...fields, [name]: fill(fields[name]) } : fields;
const list = (fields: Fields, name: string, fill: (item: Fields) => Fields): Fields =>
  fields[name] === undefined ? fields : { ...fields, [name]: each(fields[name], fill) };

const port = (given: Fields): Fields => over({ protocol: "TCP" }, given);

const serviceSpec = (spec: Fields): Fields => {
  const ports = list(spec, "ports", (p) => over({ protocol: "TCP", targetPort: p.port }, p));
  const type = spec.type ?? "ClusterIP";
  const traffic = type === "ExternalName" ? {} : { internalTrafficPolicy: "Cluster" };
  return over({ type, sessionAffinity: "None", ...traffic }, ports);
};

const container = (given: Fields): Fields => {
  const image = String(given.image ?? "");
  const pull = /:latest$|^[^:@]*$/.test(image.slice(image.lastIndexOf("/") + 1)) ? "Always" : "IfNotPresent";
  const base = {
    imagePullPolicy: pull,
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    resources: {},
  };
  return list(over(base, given), "ports", port);
};

const podSpec = (spec: Fields): Fields => {
  const base = {
    restartPolicy: "Always",
    dnsPolicy: "ClusterFirst",
    schedulerName: "default-scheduler",
    terminationGracePeriodSeconds: 30,
    securityContext: {},
  };
  const account = spec.serviceAccountName ?? spec.serviceAccount;
  const accounts = account === undefined ? {} : { serviceAccountName: account, serviceAccount: account };
  return list(list(over(base, { ...spec, ...accounts }), "containers", container), "initContainers", container);
};

const template = (spec: Fields): Fields => within(spec, "template", (t) => within(t, "spec", podSpec));

const webhook = (given: Fields): Fields =>
  list(
    over(
      {
        failurePolicy: "Fail",
        matchPolicy: "Equivalent",
        timeoutSeconds: 10,
        namespaceSelector: {},
        objectSelector: {},
      },
      given,
    ),
    "rules",
    (rule) => over({ scope: "*" }, rule),
  );

const rbacGroup = "rbac.authorization.k8s.io";
const binding: Fill = (o) =>
  list(
    within(o, "roleRef", (r) => ({ ...r, apiGroup: r.apiGroup || rbacGroup })),
    "subjects",
    (s) => (s.kind === "ServiceAccount" ? s : { ...s, apiGroup: s.apiGroup || rbacGroup }),
  );

/** Plain texts become data once, and are not kept. */
const secret: Fill = ({ stringData, ...rest }) => {
  const plain = Object.entries(isRecord(stringData) ? stringData : {}).map(([k, v]) => [
    k,
    Buffer.from(String(v)).toString("base64"),
  ]);
  const data = { ...recordAt(rest, "data"), ...Object.fromEntries(plain) };
  return over({ type: "Opaque" }, Object.keys(data).length === 0 ? rest : { ...rest, data });
};

const crd = (spec: Fields): Fields => {
  const names = recordAt(spec, "names");
  const kind = String(names.kind ?? "");
  return over(
    { conversion: { strategy: "None" } },
    { ...spec, names: over({ singular: kind.toLowerCase(), listKind: `${kind}List` }, names) },
  );
};

const spec =
  (fill: (spec: Fields) => Fields): Fill =>
  (o) =>
    within(o, "spec", fill);

const fills: ReadonlyMap<string, Fill> = new Map<string, Fill>([
  ["/Service", spec(serviceSpec)],
  [
    "/Pod",
    (o) =>
      over(
        { status: { phase: "Pending", qosClass: "BestEffort" } },
        within(o, "spec", (s) => podSpec(over({ serviceAccountName: "default" }, s))),
      ),
  ],
  ["/Namespace", (o) => over({ spec: { finalizers: ["kubernetes"] }, status: { phase: "Active" } }, o)],
  ["/Secret", secret],
  ["/Endpoints", (o) => list(o, "subsets", (s) => list(s, "ports", port))],
  [
    "discovery.k8s.io/EndpointSlice",
    (o) =>
      over(
        { endpoints: [] },
        list(o, "ports", (p) => over({ name: "", protocol: "TCP" }, p)),
      ),
  ],
  [`${rbacGroup}/RoleBinding`, binding],
  [`${rbacGroup}/ClusterRoleBinding`, binding],
  ["admissionregistration.k8s.io/ValidatingWebhookConfiguration", (o) => list(o, "webhooks", webhook)],
  [
    "admissionregistration.k8s.io/MutatingWebhookConfiguration",
    (o) => list(o, "webhooks", (w) => over({ reinvocationPolicy: "Never" }, webhook(w))),
  ],
  ["apiextensions.k8s.io/CustomResourceDefinition", spec(crd)],
  [
    "apps/Deployment",
    spec((s) =>
      over(
        {
          replicas: 1,
          revisionHistoryLimit: 10,
          progressDeadlineSeconds: 600,
          strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "25%", maxSurge: "25%" } },
        },
        template(s),
      ),
    ),
  ],
  ["apps/ReplicaSet", spec((s) => over({ replicas: 1 }, template(s)))],
  ["apps/StatefulSet", spec((s) => over({ replicas: 1, podManagementPolicy: "OrderedReady" }, template(s)))],
  ["apps/DaemonSet", spec(template)],
  ["batch/Job", spec((s) => over({ completions: 1, parallelism: 1, backoffLimit: 6 }, template(s)))],
  ["autoscaling/HorizontalPodAutoscaler", spec((s) => over({ minReplicas: 1 }, s))],
]);

export function applyDefaults(kind: ApiKind, object: KubeObject): KubeObject {
  const fill = fills.get(`${kind.group}/${kind.kind}`);
  return fill ? (fill(object, object) as KubeObject) : object;
}
