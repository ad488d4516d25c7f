/** The roles, bindings and objects that both API servers are given before they are asked, as tables. */

export interface Made {
  readonly path: string;
  readonly object: Readonly<Record<string, unknown>>;
}

export const rbacGroup = "rbac.authorization.k8s.io";
const apis = `/apis/${rbacGroup}/v1`;
export const paths = {
  roles: `${apis}/namespaces/qa/roles`,
  roleBindings: `${apis}/namespaces/qa/rolebindings`,
  clusterRoles: `${apis}/clusterroles`,
  clusterRoleBindings: `${apis}/clusterrolebindings`,
};

/** `verbs` on `resources` of `groups` (core: the empty one), or on paths; names after a colon. */
export function rule(text: string): Readonly<Record<string, unknown>> {
  const [what = "", names] = text.split(" : ");
  const [verbs = "", of = "", groups = "core"] = what.split(" ");
  const words = (list: string): readonly string[] => list.split(",").map((word) => (word === "core" ? "" : word));
  if (of.startsWith("/")) return { verbs: words(verbs), nonResourceURLs: words(of) };
  return {
    verbs: words(verbs),
    resources: words(of),
    apiGroups: words(groups),
    ...(names === undefined ? {} : { resourceNames: words(names) }),
  };
}

/** A user of the same name has each, in the namespace qa; one with `c-` before its name, everywhere. */
export const roles: Readonly<Record<string, readonly string[]>> = {
  reader: ["get,list,watch configmaps,pods,services"],
  named: ["get,list,watch,update,patch,delete configmaps : one,two"],
  "create-named": ["create configmaps : one"],
  status: ["get,update,patch pods/status,widgets/status core,example.com"],
  "any-status": ["patch */status *"],
  "pods-slash-star": ["get,create pods/*"],
  "all-verbs": ["* deployments apps"],
  "all-groups": ["get widgets,configmaps *"],
  "all-resources": ["get,list * example.com"],
  "star-group-literal": ["list secrets core,*"],
  updater: ["update,patch * *"],
  "patch-create": ["patch,create configmaps"],
  purger: ["deletecollection configmaps"],
  tokens: ["create serviceaccounts/token : robot"],
  evictor: ["create pods/eviction"],
  author: [
    "create,update,patch roles,clusterroles,rolebindings,clusterrolebindings rbac.authorization.k8s.io",
    "get,list configmaps",
    "get pods : one",
    "patch */status",
    "get /metrics,/logs/*",
  ],
  escalator: [
    "create,update,patch roles,clusterroles rbac.authorization.k8s.io",
    "escalate roles,clusterroles rbac.authorization.k8s.io : target",
  ],
  "escalator-all": [
    "create,update,patch roles,clusterroles rbac.authorization.k8s.io",
    "escalate roles,clusterroles rbac.authorization.k8s.io",
  ],
  binder: [
    "create,update,patch rolebindings,clusterrolebindings rbac.authorization.k8s.io",
    "bind clusterroles rbac.authorization.k8s.io : secrets,absent",
    "bind roles rbac.authorization.k8s.io : target",
  ],
  "binder-own-name": [
    "create,update,patch rolebindings,clusterrolebindings rbac.authorization.k8s.io",
    "bind clusterroles,roles rbac.authorization.k8s.io : new",
  ],
  "binder-all": [
    "create,update,patch rolebindings,clusterrolebindings rbac.authorization.k8s.io",
    "bind clusterroles,roles rbac.authorization.k8s.io",
  ],
  secrets: ["get,list secrets"],
  urls: ["get /metrics,/healthz/*,/logs*", "head /metrics", "* /debug/*"],
  "all-urls": ["get /*"],
  "empty-verbs-elsewhere": ["get nothing nowhere.example.com"],
  superuser: ["* * *"],
  "imp-user": ["impersonate users : ann,system:serviceaccount:qa:robot"],
  "imp-any-user": ["impersonate users"],
  "imp-group": ["impersonate users : ann", "impersonate groups : dev"],
  "imp-account": ["impersonate serviceaccounts : robot"],
  "imp-extra": ["impersonate users : ann", "impersonate userextras/scopes authentication.k8s.io : view"],
  "imp-uid": ["impersonate users : ann", "impersonate uids authentication.k8s.io : u-1"],
  "imp-all": ["impersonate users,groups,serviceaccounts", "impersonate userextras/*,uids authentication.k8s.io"],
};

/** Users of Kubernetes' own roles, in the namespace qa. */
export const builtIn: readonly string[] = ["view", "edit", "admin", "cluster-admin"];

const clusterRole = (name: string, fields: object): Made => ({
  path: paths.clusterRoles,
  object: { apiVersion: `${rbacGroup}/v1`, kind: "ClusterRole", metadata: { name }, ...fields },
});

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export function binding(
  namespace: string | undefined,
  name: string,
  role: { readonly kind: string; readonly name: string },
  subjects: readonly Subject[],
): Made {
  const kind = namespace === undefined ? "ClusterRoleBinding" : "RoleBinding";
  return {
    path: namespace === undefined ? paths.clusterRoleBindings : `${apis}/namespaces/${namespace}/rolebindings`,
    object: {
      apiVersion: `${rbacGroup}/v1`,
      kind,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
      roleRef: { apiGroup: rbacGroup, ...role },
      subjects: subjects.map((subject) =>
        subject.kind === "ServiceAccount" ? subject : { apiGroup: rbacGroup, ...subject },
      ),
    },
  };
}

const user = (name: string): readonly Subject[] => [{ kind: "User", name }];
const reader = { kind: "ClusterRole", name: "reader" };

const namespaces: readonly Made[] = ["qa", "qb"].map((name) => ({
  path: "/api/v1/namespaces",
  object: { apiVersion: "v1", kind: "Namespace", metadata: { name } },
}));

/** Who sends requests of their own: in the namespace qa, with the rules of the role of the same name everywhere. */
export const accounts: readonly string[] = Object.keys(roles).filter((name) => name.startsWith("imp-"));

const serviceAccounts: readonly Made[] = [...accounts, "robot", "plain"].map((name) => ({
  path: "/api/v1/namespaces/qa/serviceaccounts",
  object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace: "qa" } },
}));

const widgets: Made = {
  path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  object: {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        },
      ],
    },
  },
};

const aggregation: readonly Made[] = [
  clusterRole("sum", {
    aggregationRule: {
      clusterRoleSelectors: [
        { matchLabels: { "example.com/sum": "yes" } },
        { matchExpressions: [{ key: "example.com/also", operator: "In", values: ["a", "b"] }] },
      ],
    },
    rules: [],
  }),
  clusterRole("part-1", {
    metadata: { name: "part-1", labels: { "example.com/sum": "yes" } },
    rules: [rule("get configmaps")],
  }),
  clusterRole("part-2", {
    metadata: { name: "part-2", labels: { "example.com/also": "b" } },
    rules: [rule("list pods")],
  }),
  clusterRole("part-3", {
    metadata: { name: "part-3", labels: { "example.com/also": "c" } },
    rules: [rule("get secrets")],
  }),
  clusterRole("widget-edit", {
    metadata: { name: "widget-edit", labels: { [`${rbacGroup}/aggregate-to-edit`]: "true" } },
    rules: [rule("create,update widgets example.com")],
  }),
  clusterRole("chain", {
    metadata: { name: "chain" },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "example.com/link": "1" } }] },
    rules: [],
  }),
  clusterRole("link-1", {
    metadata: { name: "link-1", labels: { "example.com/link": "1" } },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "example.com/link": "2" } }] },
    rules: [],
  }),
  clusterRole("link-2", {
    metadata: { name: "link-2", labels: { "example.com/link": "2" } },
    rules: [rule("watch services")],
  }),
];

const special: readonly Made[] = [
  binding("qa", "sum", { kind: "ClusterRole", name: "sum" }, user("sum")),
  binding("qa", "chain", { kind: "ClusterRole", name: "chain" }, user("chain")),
  binding("qa", "star-user", reader, user("*")),
  binding("qa", "star-group", reader, [{ kind: "Group", name: "*" }]),
  binding("qa", "dev", reader, [{ kind: "Group", name: "dev" }]),
  binding("qa", "local-account", reader, [{ kind: "ServiceAccount", name: "plain", namespace: "qa" }]),
  binding("qb", "other-account", reader, [{ kind: "ServiceAccount", name: "plain", namespace: "qa" }]),
  binding(undefined, "accounts-of-qb", reader, [{ kind: "Group", name: "system:serviceaccounts:qb" }]),
  binding("qa", "account-as-user", { kind: "ClusterRole", name: "secrets" }, user("system:serviceaccount:qa:plain")),
  binding("qa", "two-subjects", { kind: "ClusterRole", name: "purger" }, [...user("first"), ...user("second")]),
  binding("qa", "no-such-role", { kind: "Role", name: "never-made" }, user("waiting")),
  binding("qa", "no-subjects", reader, []),
  {
    path: paths.roles,
    object: {
      apiVersion: `${rbacGroup}/v1`,
      kind: "Role",
      metadata: { name: "target", namespace: "qa" },
      rules: [rule("get secrets")],
    },
  },
  clusterRole("target", { rules: [rule("get secrets")] }),
  binding("qa", "role-in-namespace", { kind: "Role", name: "target" }, user("local")),
  binding("qa", "existing", { kind: "ClusterRole", name: "secrets" }, user("somebody")),
];

const objects: readonly Made[] = [
  ...["one", "three"].map((name) => ({
    path: "/api/v1/namespaces/qa/configmaps",
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "qa" } },
  })),
  {
    path: "/api/v1/namespaces/qb/configmaps",
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one", namespace: "qb" } },
  },
];

/** In the order in which they are made. */
export const setup: readonly Made[] = [
  ...namespaces,
  widgets,
  ...serviceAccounts,
  ...Object.entries(roles).map(([name, texts]) => clusterRole(name, { rules: texts.map(rule) })),
  ...aggregation,
  ...[...Object.keys(roles), ...builtIn].flatMap((name) => [
    binding("qa", name, { kind: "ClusterRole", name }, user(name)),
    binding(undefined, `c-${name}`, { kind: "ClusterRole", name }, user(`c-${name}`)),
  ]),
  ...accounts.map((name) =>
    binding(undefined, `account-${name}`, { kind: "ClusterRole", name }, [
      { kind: "ServiceAccount", name, namespace: "qa" },
    ]),
  ),
  ...special,
  ...objects,
];
