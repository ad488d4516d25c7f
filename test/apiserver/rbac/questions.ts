/** Tables in, the questions that both API servers are asked out. Nothing that is asked changes anything. */
import { accounts, binding, builtIn, paths, rbacGroup, roles, rule, type Subject } from "./setup.ts";

/** One row is asked once per verb; its answer is the verbs that are allowed. */
export interface Row {
  readonly user: string;
  readonly groups: readonly string[];
  /** Empty: at the cluster scope. */
  readonly namespace: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}

export interface PathRow {
  readonly user: string;
  readonly groups: readonly string[];
  readonly path: string;
}

export interface Asked {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** A service account of qa that asks with its own token; otherwise the administrator does. */
  readonly account?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

export const verbs: readonly string[] =
  "get list create update patch deletecollection bind escalate impersonate *".split(" ");
export const pathVerbs: readonly string[] = "get head post *".split(" ");

const known = ["system:authenticated"];

/** `configmaps/status.group:name`. */
function row(user: string, namespace: string, text: string, groups: readonly string[] = known): Row {
  const [of = "", name = ""] = text.split(":");
  const [full = "", ...group] = of.split(".");
  const [resource = "", ...sub] = full.split("/");
  return { user, groups, namespace, group: group.join("."), resource, subresource: sub.join("/"), name };
}

const things =
  "configmaps configmaps:one configmaps:three pods pods:one pods/status:one pods/log pods/eviction services secrets serviceaccounts/token:robot widgets.example.com widgets/status.example.com widgets.other.example.com deployments.apps deployments/scale.apps roles.rbac.authorization.k8s.io roles.rbac.authorization.k8s.io:target clusterroles.rbac.authorization.k8s.io:secrets users:ann groups:dev".split(
    " ",
  );

const aboutRights = things.slice(-5);

const defaultThings =
  "namespaces namespaces:qa services services/status endpoints pods pods/status pods/eviction pods/log pods/exec pods/portforward pods/attach pods/proxy services/proxy nodes secrets configmaps serviceaccounts serviceaccounts/token events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale limitranges resourcequotas resourcequotas/status bindings endpointslices.discovery.k8s.io leases.coordination.k8s.io ingresses.networking.k8s.io ingresses/status.networking.k8s.io ingressclasses.networking.k8s.io networkpolicies.networking.k8s.io roles.rbac.authorization.k8s.io rolebindings.rbac.authorization.k8s.io clusterroles.rbac.authorization.k8s.io clusterrolebindings.rbac.authorization.k8s.io subjectaccessreviews.authorization.k8s.io localsubjectaccessreviews.authorization.k8s.io selfsubjectaccessreviews.authorization.k8s.io selfsubjectrulesreviews.authorization.k8s.io tokenreviews.authentication.k8s.io selfsubjectreviews.authentication.k8s.io mutatingwebhookconfigurations.admissionregistration.k8s.io customresourcedefinitions.apiextensions.k8s.io deployments.apps deployments/status.apps deployments/scale.apps replicasets.apps replicasets/scale.apps statefulsets.apps statefulsets/scale.apps daemonsets.apps controllerrevisions.apps jobs.batch cronjobs.batch horizontalpodautoscalers.autoscaling horizontalpodautoscalers/status.autoscaling poddisruptionbudgets.policy poddisruptionbudgets/status.policy storageclasses.storage.k8s.io widgets.example.com".split(
    " ",
  );

const namedUsers: readonly Row[] = [
  ...["*", "ann", "sum", "chain", "first", "second", "third", "waiting", "local", "system:serviceaccount:qa:plain"],
].flatMap((user) =>
  ["", "qa", "qb"].flatMap((namespace) =>
    "configmaps pods services secrets configmaps:one".split(" ").map((thing) => row(user, namespace, thing)),
  ),
);

const groupUsers: readonly Row[] = [
  ["dev"],
  ["*"],
  ["system:serviceaccounts:qb"],
  ["system:masters"],
  ["de"],
  [],
].flatMap((groups) =>
  ["", "qa"].flatMap((namespace) => ["configmaps", "secrets"].map((t) => row("x", namespace, t, groups))),
);

export const rows: readonly Row[] = [
  ...Object.keys(roles).flatMap((user) =>
    (/^(imp|binder|escalator|urls|all-urls)/.test(user) ? aboutRights : things).map((thing) => row(user, "qa", thing)),
  ),
  ...["reader", "any-status", "superuser", "c-reader", "c-author", "c-all-groups"].flatMap((user) =>
    ["", "qb"].flatMap((namespace) => things.slice(0, 12).map((thing) => row(user, namespace, thing))),
  ),
  ...builtIn.flatMap((user) => defaultThings.map((thing) => row(user, "qa", thing))),
  ...defaultThings.map((thing) => row("nobody", "qa", thing)),
  ...namedUsers,
  ...groupUsers,
];

const urls =
  "/metrics /metrics/ /metrics/x /healthz /healthz/ /healthz/ping /healthz/a/b /logs /logsx /logs/a /debug /debug/pprof / /api /apis /apis/apps /version /version/ /openapi /openapi/v3 /livez /readyz /readyz/ping /.well-known/openid-configuration /openid/v1/jwks *".split(
    " ",
  );

export const pathRows: readonly PathRow[] = [
  ...["c-urls", "c-all-urls", "c-superuser", "c-author", "urls", "nobody"].map((user) => ({ user, groups: known })),
  { user: "system:anonymous", groups: ["system:unauthenticated"] },
  { user: "system:serviceaccount:qa:plain", groups: ["system:serviceaccounts", "system:serviceaccounts:qa", ...known] },
  { user: "root", groups: ["system:masters"] },
].flatMap(({ user, groups }) => urls.map((path) => ({ user, groups, path })));

/** Whose own rules are asked for, in which namespace. */
export const ruleUsers: readonly (readonly [string, string])[] = [
  ...["reader", "named", "urls", "sum", "local", "any-status", "author", "nobody"].map((user) => [user, "qa"] as const),
  ...["reader", "c-reader", "c-urls", "c-superuser"].map((user) => [user, "qb"] as const),
];

const as = (user: string, groups: readonly string[] = []): NonNullable<Asked["headers"]> => ({
  "impersonate-user": user,
  ...(groups.length === 0 ? {} : { "impersonate-group": groups }),
});
const withDryRun = (path: string): string => `${path}${path.includes("?") ? "&" : "?"}dryRun=All`;

const merge = "application/merge-patch+json";
const apply = "application/apply-patch+yaml";
const configMaps = "/api/v1/namespaces/qa/configmaps";
const configMap = (name: string): object => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

/** Every method on every kind of path. */
const methods: readonly Asked[] = [
  "reader",
  "named",
  "create-named",
  "updater",
  "patch-create",
  "purger",
  "c-reader",
  "c-superuser",
  "nobody",
].flatMap((user) =>
  [
    ["GET", configMaps],
    ["GET", `${configMaps}?fieldSelector=metadata.name%3Done`],
    ["GET", `${configMaps}?fieldSelector=metadata.name%3Dthree`],
    ["GET", `${configMaps}?fieldSelector=metadata.name%21%3Done`],
    ["GET", `${configMaps}?fieldSelector=metadata.namespace%3Dqa,metadata.name%3D%3Done`],
    ["GET", `${configMaps}/one`],
    ["HEAD", `${configMaps}/one`],
    ["GET", `${configMaps}/absent`],
    ["GET", "/api/v1/configmaps"],
    ["GET", "/api/v1/configmaps/one"],
    ["GET", "/api/v1/namespaces/qb/configmaps/one"],
    ["GET", `${configMaps}/one/status`],
    ["GET", "/api/v1/namespaces/qa/nosuchthings"],
    ["GET", "/apis/nosuch.example.com/v1/things"],
    ["GET", "/apis/example.com/v1/namespaces/qa/widgets"],
    ["GET", "/apis/example.com/v2/namespaces/qa/widgets"],
    ["GET", "/api/v1/namespaces/qa"],
    ["POST", configMaps, configMap("new")],
    ["POST", `${configMaps}?pretty=false`, configMap("one")],
    ["POST", `${configMaps}/one`, configMap("new")],
    ["POST", `${configMaps}/new`, configMap("new")],
    ["POST", "/api/v1/configmaps", configMap("new")],
    ["PUT", configMaps, configMap("one")],
    ["PUT", `${configMaps}/one`, configMap("one")],
    ["PUT", `${configMaps}/absent`, configMap("absent")],
    ["PATCH", configMaps, {}, merge],
    ["PATCH", `${configMaps}/one`, { data: { a: "1" } }, merge],
    ["PATCH", `${configMaps}/three`, { data: { a: "1" } }, merge],
    ["PATCH", `${configMaps}/absent`, { data: { a: "1" } }, merge],
    ["PATCH", `${configMaps}/one?fieldManager=q`, configMap("one"), apply],
    ["PATCH", `${configMaps}/absent?fieldManager=q`, configMap("absent"), apply],
    ["DELETE", configMaps],
    ["DELETE", `${configMaps}/one`],
    ["DELETE", `${configMaps}/absent`],
    ["DELETE", "/api/v1/configmaps"],
    ["DELETE", `${configMaps}/one/status`],
  ].map(([method, path, body, contentType]) => ({
    id: `${user} ${method} ${path}${contentType === apply ? " apply" : ""}`,
    method: method as string,
    path: method === "GET" || method === "HEAD" ? (path as string) : withDryRun(path as string),
    headers: as(user),
    ...(body === undefined ? {} : { body }),
    ...(contentType === undefined ? {} : { contentType: contentType as string }),
  })),
);

const subresources: readonly Asked[] = ["status", "any-status", "tokens", "evictor", "c-superuser"].flatMap((user) =>
  [
    ["POST", "/api/v1/namespaces/qa/serviceaccounts/robot/token", { spec: {} }],
    ["POST", "/api/v1/namespaces/qa/serviceaccounts/plain/token", { spec: {} }],
    ["GET", "/api/v1/namespaces/qa/serviceaccounts/robot/token"],
    ["DELETE", "/api/v1/namespaces/qa/serviceaccounts/robot/token"],
    ["DELETE", "/api/v1/namespaces/qa/pods/absent/eviction"],
    ["PUT", "/api/v1/namespaces/qa/pods/absent/eviction", {}],
    ["DELETE", "/api/v1/namespaces/qa/pods/absent/status"],
    ["POST", "/api/v1/namespaces/qa/pods/absent/status", {}],
    ["GET", "/api/v1/namespaces/qa/pods/absent/status"],
    ["PATCH", "/api/v1/namespaces/qa/pods/absent/status", {}, merge],
    ["PATCH", "/apis/example.com/v1/namespaces/qa/widgets/absent/status", {}, merge],
    ["PATCH", "/api/v1/namespaces/qa/finalize", {}, merge],
    ["DELETE", "/api/v1/namespaces/qa/finalize"],
    ["PATCH", "/api/v1/namespaces/qa/status", {}, merge],
  ].map(([method, path, body, contentType]) => ({
    id: `${user} ${method} ${path}`,
    method: method as string,
    path: method === "GET" ? (path as string) : withDryRun(path as string),
    headers: as(user),
    ...(body === undefined ? {} : { body }),
    ...(contentType === undefined ? {} : { contentType: contentType as string }),
  })),
);

/** Paths that go on where a resource's path ends, or name one namespace inside another: whose object is it? */
const nestedPaths: readonly string[] = [
  "/api/v1/namespaces/qa/namespaces/qb",
  "/api/v1/namespaces/qa/namespaces",
  "/api/v1/namespaces/qa/namespaces/qb/configmaps",
  "/api/v1/namespaces/qa/namespaces/qb/configmaps/one",
  "/api/v1/namespaces/qa/configmaps/one/namespaces/qb",
  "/api/v1/namespaces/qa/configmaps/one/configmaps/three",
  "/api/v1/namespaces/qa/configmaps/one/status/more",
  "/api/v1/namespaces/qa/configmaps/namespaces/qb",
  "/api/v1/namespaces/qa/nodes/one",
  "/api/v1/namespaces/qa/persistentvolumes",
  "/api/v1/namespaces//configmaps/one",
  "/api/v1/namespaces/qa//configmaps/one",
  "/api/v1/namespaces/qa/configmaps//one",
  "/api/v1/namespaces/qa/configmaps/one/",
  "/api/v1/namespaces/qa/../qb/configmaps/one",
  "/api/v1/namespaces/qa/configmaps/%2e%2e/secrets/x",
  "/api/v1/namespaces/qa/configmaps/one%2fstatus",
  "/api/v1/namespaces/qa%2fconfigmaps/one",
  "/apis/rbac.authorization.k8s.io/v1/namespaces/qa/clusterroles/view",
  "/apis/rbac.authorization.k8s.io/v1/namespaces/qa/clusterroles",
  "/apis/rbac.authorization.k8s.io/v1/clusterroles/view/namespaces/qa",
  "/apis/example.com/v1/namespaces/qa/namespaces/qb/widgets",
  "/apis/v1/namespaces/qa/configmaps/one",
  "/api/apps/v1/namespaces/qa/deployments",
  "/api/v1/api/v1/namespaces/qa",
  "/api/v1/configmaps/one/status",
];
const nested: readonly Asked[] = ["c-superuser", "nobody"].flatMap((user) =>
  nestedPaths.flatMap((path) =>
    [
      ["GET", undefined],
      ["DELETE", undefined],
      ["POST", configMap("one")],
      ["PUT", configMap("one")],
    ].map(([method, body]) => ({
      id: `${user} ${method} ${path}`,
      method: method as string,
      path: method === "GET" ? path : withDryRun(path),
      headers: as(user),
      ...(body === undefined ? {} : { body }),
    })),
  ),
);

const meta = { metadata: { name: "absent" } };
/** Kinds of which a PUT may make a new object, and others. */
const putAbsent: readonly Asked[] = (
  [
    ["/api/v1/namespaces/qa/configmaps", { ...meta }],
    ["/api/v1/namespaces/qa/secrets", { ...meta }],
    ["/api/v1/namespaces/qa/services", { ...meta, spec: { ports: [{ port: 80 }] } }],
    ["/api/v1/namespaces/qa/endpoints", { ...meta }],
    ["/api/v1/namespaces/qa/serviceaccounts", { ...meta }],
    ["/api/v1/namespaces/qa/pods", { ...meta, spec: { containers: [{ name: "c", image: "i" }] } }],
    ["/api/v1/nodes", { ...meta }],
    ["/api/v1/namespaces", { ...meta }],
    [
      "/api/v1/namespaces/qa/events",
      { ...meta, involvedObject: { kind: "Pod", name: "x", namespace: "qa" }, reason: "r", message: "m" },
    ],
    ["/apis/coordination.k8s.io/v1/namespaces/qa/leases", { ...meta }],
    ["/apis/discovery.k8s.io/v1/namespaces/qa/endpointslices", { ...meta, addressType: "IPv4", endpoints: [] }],
    [paths.roles, { ...meta, rules: [] }],
    [paths.clusterRoles, { ...meta, rules: [] }],
    [paths.roleBindings, binding("qa", "absent", { kind: "ClusterRole", name: "reader" }, []).object],
    [paths.clusterRoleBindings, binding(undefined, "absent", { kind: "ClusterRole", name: "reader" }, []).object],
    ["/apis/networking.k8s.io/v1/ingressclasses", { ...meta, spec: { controller: "example.com/x" } }],
    ["/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", { ...meta, webhooks: [] }],
    ["/apis/example.com/v1/namespaces/qa/widgets", { apiVersion: "example.com/v1", kind: "Widget", ...meta }],
  ] as const
).flatMap(([path, body]) =>
  ["c-updater", "c-superuser"].map((user) => ({
    id: `${user} makes by PUT ${path}`,
    method: "PUT",
    path: withDryRun(`${path}/absent`),
    body,
    headers: as(user),
  })),
);

const role = (name: string, rules: readonly object[], extra: object = {}): object => ({
  apiVersion: `${rbacGroup}/v1`,
  kind: "Role",
  metadata: { name },
  rules,
  ...extra,
});
const ruleSets: Readonly<Record<string, readonly object[]>> = {
  none: [],
  held: [rule("get configmaps")],
  "held twice": [rule("get,list configmaps")],
  "one verb more": [rule("get,list,watch configmaps")],
  "a name of what is held": [rule("get configmaps : a")],
  "the name that is held": [rule("get pods : one")],
  "another name": [rule("get pods : two")],
  "without the name": [rule("get pods")],
  "a status by wildcard": [rule("patch pods/status")],
  "the wildcard status": [rule("patch */status")],
  "all resources": [rule("get *")],
  "all groups": [rule("get configmaps *")],
  "all verbs": [rule("* configmaps")],
  "not held": [rule("get secrets")],
};
const clusterRuleSets: Readonly<Record<string, readonly object[]>> = {
  ...ruleSets,
  "a held path": [rule("get /metrics")],
  "a path below a held one": [rule("get /logs/a")],
  "a wider path": [rule("get /logs*")],
  "another path": [rule("get /debug")],
  "every path": [rule("get /*")],
};
const badRuleSets: Readonly<Record<string, readonly object[]>> = {
  "no verbs": [{ apiGroups: [""], resources: ["pods"] }],
  "no groups": [{ resources: ["pods"], verbs: ["get"] }],
  "no resources": [{ apiGroups: [""], verbs: ["get"] }],
  "a path in a namespace": [rule("get /metrics")],
  "paths and resources": [{ apiGroups: [""], resources: ["pods"], nonResourceURLs: ["/x"], verbs: ["get"] }],
};
const writers = ["author", "escalator", "escalator-all", "superuser", "nobody"];
const roleWrites: readonly Asked[] = writers.flatMap((writer) => [
  ...Object.entries({ ...ruleSets, ...badRuleSets }).map(([what, rules]) => ({
    id: `${writer} makes a Role with ${what}`,
    method: "POST",
    path: withDryRun(paths.roles),
    body: role("new", rules),
    headers: as(writer),
  })),
  ...Object.entries(ruleSets).map(([what, rules]) => ({
    id: `${writer} changes the Role target to ${what}`,
    method: "PUT",
    path: withDryRun(`${paths.roles}/target`),
    body: role("target", rules),
    headers: as(writer),
  })),
  ...Object.entries(clusterRuleSets).map(([what, rules]) => ({
    id: `c-${writer} makes a ClusterRole with ${what}`,
    method: "POST",
    path: withDryRun(paths.clusterRoles),
    body: { ...role("new", rules), kind: "ClusterRole" },
    headers: as(`c-${writer}`),
  })),
  ...[
    ["PATCH", merge, `${paths.roles}/target`, { metadata: { labels: { a: "b" } } }, writer],
    ["PATCH", merge, `${paths.roles}/target`, { metadata: { finalizers: ["example.com/x"] } }, writer],
    ["PATCH", merge, `${paths.clusterRoles}/target`, { rules: [rule("get configmaps")] }, `c-${writer}`],
    ["PATCH", apply, `${paths.roles}/new?fieldManager=q`, role("new", [rule("get configmaps")]), writer],
    ["PATCH", apply, `${paths.roles}/new?fieldManager=q`, role("new", [rule("get secrets")]), writer],
  ].map(([method, contentType, path, body, user], i) => ({
    id: `${user as string} ${method as string} ${path as string} ${i}`,
    method: method as string,
    path: withDryRun(path as string),
    body,
    contentType: contentType as string,
    headers: as(user as string),
  })),
  {
    id: `c-${writer} makes a ClusterRole that aggregates`,
    method: "POST",
    path: withDryRun(paths.clusterRoles),
    body: {
      ...role("new", []),
      kind: "ClusterRole",
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
    },
    headers: as(`c-${writer}`),
  },
]);

const bound: readonly { readonly kind: string; readonly name: string }[] = [
  { kind: "ClusterRole", name: "secrets" },
  { kind: "ClusterRole", name: "reader" },
  { kind: "ClusterRole", name: "absent" },
  { kind: "ClusterRole", name: "cluster-admin" },
  { kind: "ClusterRole", name: "new" },
  { kind: "Role", name: "target" },
  { kind: "Role", name: "absent" },
  { kind: "User", name: "x" },
];
const oneSubject: readonly Subject[] = [{ kind: "User", name: "somebody" }];
const bindingWrites: readonly Asked[] = ["author", "binder", "binder-own-name", "binder-all", "superuser"].flatMap(
  (writer) =>
    bound.flatMap((ref) => [
      {
        id: `${writer} binds ${ref.kind} ${ref.name} in qa`,
        method: "POST",
        path: withDryRun(paths.roleBindings),
        body: binding("qa", "new", ref, oneSubject).object,
        headers: as(writer),
      },
      {
        id: `c-${writer} binds ${ref.kind} ${ref.name} everywhere`,
        method: "POST",
        path: withDryRun(paths.clusterRoleBindings),
        body: binding(undefined, "new", ref, oneSubject).object,
        headers: as(`c-${writer}`),
      },
      {
        id: `${writer} changes a binding to ${ref.kind} ${ref.name}`,
        method: "PUT",
        path: withDryRun(`${paths.roleBindings}/existing`),
        body: binding("qa", "existing", ref, oneSubject).object,
        headers: as(writer),
      },
    ]),
);

const subjects: Readonly<Record<string, object>> = {
  "a user": { apiGroup: rbacGroup, kind: "User", name: "a" },
  "a group of the core": { apiGroup: "", kind: "Group", name: "a" },
  "a user of another group": { apiGroup: "example.com", kind: "User", name: "a" },
  "no name": { apiGroup: rbacGroup, kind: "User", name: "" },
  "another kind": { apiGroup: rbacGroup, kind: "Robot", name: "a" },
  "an account": { kind: "ServiceAccount", name: "a", namespace: "qa" },
  "an account without a namespace": { kind: "ServiceAccount", name: "a" },
  "an account with a bad name": { kind: "ServiceAccount", name: "A_b", namespace: "qa" },
  "an account of a group": { apiGroup: rbacGroup, kind: "ServiceAccount", name: "a", namespace: "qa" },
};
const subjectWrites: readonly Asked[] = Object.entries(subjects).flatMap(([what, subject]) => [
  {
    id: `a RoleBinding of ${what}`,
    method: "POST",
    path: withDryRun(paths.roleBindings),
    body: { ...binding("qa", "new", { kind: "ClusterRole", name: "reader" }, []).object, subjects: [subject] },
  },
  {
    id: `a ClusterRoleBinding of ${what}`,
    method: "POST",
    path: withDryRun(paths.clusterRoleBindings),
    body: { ...binding(undefined, "new", { kind: "ClusterRole", name: "reader" }, []).object, subjects: [subject] },
  },
]);

const selfReview = {
  method: "POST",
  path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
  body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
};
const masks: Readonly<Record<string, NonNullable<Asked["headers"]>>> = {
  nobody: {},
  ann: as("ann"),
  ben: as("ben"),
  "ann of dev": as("ann", ["dev"]),
  "ann of ops": as("ann", ["ops"]),
  "ann of dev and ops": as("ann", ["dev", "ops"]),
  "ann of a group with a comma": as("ann", ["dev, ops"]),
  "ann of the masters": as("ann", ["system:masters"]),
  "only a group": { "impersonate-group": "dev" },
  robot: as("system:serviceaccount:qa:robot"),
  plain: as("system:serviceaccount:qa:plain"),
  "a robot elsewhere": as("system:serviceaccount:qb:robot"),
  "a robot without a name": as("system:serviceaccount:qa:"),
  anonymous: as("system:anonymous"),
  "ann with a uid": { ...as("ann"), "impersonate-uid": "u-1" },
  "ann with another uid": { ...as("ann"), "impersonate-uid": "u-2" },
  "only a uid": { "impersonate-uid": "u-1" },
  "ann with a scope": { ...as("ann"), "impersonate-extra-scopes": "view" },
  "ann with another scope": { ...as("ann"), "impersonate-extra-scopes": "edit" },
  "ann with another extra": { ...as("ann"), "impersonate-extra-other%2fkey": "view" },
  "only a scope": { "impersonate-extra-scopes": "view" },
};
const impersonations: readonly Asked[] = [...accounts, "plain"].flatMap((account) =>
  Object.entries(masks).map(([what, headers]) => ({
    id: `${account} acts as ${what}`,
    account,
    headers,
    ...selfReview,
  })),
);

const authorization = "/apis/authorization.k8s.io/v1";
const review = (kind: string, spec: object, extra: object = {}): object => ({
  apiVersion: "authorization.k8s.io/v1",
  kind,
  ...extra,
  spec,
});
const may = { verb: "get", resource: "configmaps", namespace: "qa" };
const reviews: readonly Asked[] = [
  ...["reader", "named", "nobody", "c-superuser"].flatMap((user) => [
    ...[
      ["configmaps", may],
      ["a named one", { ...may, name: "one" }],
      ["another name", { ...may, name: "three" }],
      ["elsewhere", { ...may, namespace: "qb" }],
      ["everywhere", { ...may, namespace: "" }],
      ["another version", { ...may, version: "v9" }],
      ["another group", { ...may, group: "apps" }],
      ["a subresource", { ...may, subresource: "status" }],
    ].map(([what, resourceAttributes]) => ({
      id: `${user} asks for themselves: ${what as string}`,
      method: "POST",
      path: `${authorization}/selfsubjectaccessreviews`,
      body: review("SelfSubjectAccessReview", { resourceAttributes }),
      headers: as(user),
    })),
    {
      id: `${user} asks for themselves: a path`,
      method: "POST",
      path: `${authorization}/selfsubjectaccessreviews`,
      body: review("SelfSubjectAccessReview", { nonResourceAttributes: { path: "/version", verb: "get" } }),
      headers: as(user),
    },
    {
      id: `${user} asks for another`,
      method: "POST",
      path: `${authorization}/subjectaccessreviews`,
      body: review("SubjectAccessReview", { user: "reader", resourceAttributes: may }),
      headers: as(user),
    },
    {
      id: `${user} asks for another in qa`,
      method: "POST",
      path: `${authorization}/namespaces/qa/localsubjectaccessreviews`,
      body: review(
        "LocalSubjectAccessReview",
        { user: "reader", resourceAttributes: may },
        { metadata: { namespace: "qa" } },
      ),
      headers: as(user),
    },
  ]),
  ...(
    [
      ["nothing", {}],
      ["nobody", { resourceAttributes: may }],
      ["only groups", { groups: ["dev"], resourceAttributes: may }],
      ["both", { user: "a", resourceAttributes: may, nonResourceAttributes: { path: "/", verb: "get" } }],
      ["extra", { user: "reader", extra: { a: ["b"] }, resourceAttributes: may }],
      ["uid", { user: "reader", uid: "u", resourceAttributes: may }],
    ] as const
  ).map(([what, spec]) => ({
    id: `a review of ${what}`,
    method: "POST",
    path: `${authorization}/subjectaccessreviews`,
    body: review("SubjectAccessReview", spec),
  })),
  ...(
    [
      ["the same namespace", "qa", { user: "reader", resourceAttributes: may }],
      ["another namespace", "qb", { user: "reader", resourceAttributes: may }],
      ["no namespace", "qa", { user: "reader", resourceAttributes: { ...may, namespace: "" } }],
      ["a path", "qa", { user: "reader", nonResourceAttributes: { path: "/", verb: "get" } }],
      ["no user", "qa", { resourceAttributes: may }],
    ] as const
  ).map(([what, namespace, spec]) => ({
    id: `a local review of ${what}`,
    method: "POST",
    path: `${authorization}/namespaces/${namespace}/localsubjectaccessreviews`,
    body: review("LocalSubjectAccessReview", spec, { metadata: { namespace } }),
  })),
  ...(
    [
      ["nothing", {}],
      ["both", { resourceAttributes: may, nonResourceAttributes: { path: "/", verb: "get" } }],
    ] as const
  ).map(([what, spec]) => ({
    id: `a review of oneself of ${what}`,
    method: "POST",
    path: `${authorization}/selfsubjectaccessreviews`,
    body: review("SelfSubjectAccessReview", spec),
  })),
  {
    id: "a review of one's rules without a namespace",
    method: "POST",
    path: `${authorization}/selfsubjectrulesreviews`,
    body: review("SelfSubjectRulesReview", {}),
  },
];

const otherPaths: readonly Asked[] = ["c-urls", "c-all-urls", "nobody", "c-superuser"].flatMap((user) =>
  ["/version", "/healthz", "/nosuch", "/logs/x", "/debug/x", "/", "/apis", "/apis/example.com"].flatMap((path) =>
    ["GET", "POST"].map((method) => ({ id: `${user} ${method} ${path}`, method, path, headers: as(user) })),
  ),
);

export const requests: readonly Asked[] = [
  ...methods,
  ...subresources,
  ...nested,
  ...putAbsent,
  ...roleWrites,
  ...bindingWrites,
  ...subjectWrites,
  ...impersonations,
  ...reviews,
  ...otherPaths,
];
