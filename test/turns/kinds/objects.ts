/** Objects as large as they are taken, of every kind that has something to repeat. */
import { numbered, repeat } from "../kind.ts";

export interface LargeObject {
  readonly name: string;
  readonly id: string;
  /** Of its list. */
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  make(): { readonly metadata?: Readonly<Record<string, unknown>>; readonly [field: string]: unknown };
}

const core = "/api/v1/namespaces/default";
const g = (group: string, plural: string): string => `/apis/${group}/namespaces/default/${plural}`;
const owned = (count: number): object => Object.fromEntries(repeat(count, (i) => [`f:k${i}`, {}]));

const configMap = { path: `${core}/configmaps`, apiVersion: "v1", kind: "ConfigMap" };
const secret = { path: `${core}/secrets`, apiVersion: "v1", kind: "Secret" };
const pod = { path: `${core}/pods`, apiVersion: "v1", kind: "Pod" };
const virtualService = {
  path: g("networking.istio.io/v1", "virtualservices"),
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
};
const serviceEntry = {
  path: g("networking.istio.io/v1", "serviceentries"),
  apiVersion: "networking.istio.io/v1",
  kind: "ServiceEntry",
};
const envoyFilter = {
  path: g("networking.istio.io/v1alpha3", "envoyfilters"),
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
};
const customResourceDefinition = {
  path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
};

const definition = (plural: string, kind: string, properties: object) => ({
  metadata: { name: `${plural}.bombs.io` },
  spec: {
    group: "bombs.io",
    names: { plural, singular: plural, kind, listKind: `${kind}List` },
    scope: "Namespaced",
    versions: [
      { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties } } },
    ],
  },
});

export const objects: readonly LargeObject[] = [
  {
    name: "a ConfigMap of 16,000 entries",
    id: "cmfields",
    ...configMap,
    make: () => ({ data: numbered(16_000, "x") }),
  },
  {
    name: "a ConfigMap of 1.4 MB",
    id: "cmbig",
    ...configMap,
    make: () => ({ data: { a: "x\n".repeat(700_000) } }),
  },
  {
    name: "16,000 labels",
    id: "cmlabels",
    ...configMap,
    make: () => ({ metadata: { labels: numbered(16_000, "x") } }),
  },
  {
    name: "16,000 annotations",
    id: "cmannotations",
    ...configMap,
    make: () => ({ metadata: { annotations: numbered(16_000, "x") } }),
  },
  {
    name: "60,000 finalizers",
    id: "finalizers",
    ...configMap,
    make: () => ({ metadata: { finalizers: repeat(60_000, (i) => `a.b/c${i}`) } }),
  },
  {
    name: "10,000 owners",
    id: "owners",
    ...configMap,
    make: () => ({
      metadata: {
        ownerReferences: repeat(10_000, (i) => ({ apiVersion: "v1", kind: "Pod", name: `p${i}`, uid: `u${i}` })),
      },
    }),
  },
  {
    name: "2,000 managers of fields",
    id: "managed",
    ...configMap,
    make: () => ({
      metadata: {
        managedFields: repeat(2_000, (i) => ({
          manager: `m${i}`,
          operation: "Update",
          apiVersion: "v1",
          fieldsType: "FieldsV1",
          time: "2026-01-01T00:00:00Z",
          fieldsV1: { "f:data": owned(20) },
        })),
      },
    }),
  },
  {
    name: "60,000 managed fields",
    id: "managedone",
    ...configMap,
    make: () => ({
      metadata: {
        managedFields: [
          {
            manager: "m",
            operation: "Update",
            apiVersion: "v1",
            fieldsType: "FieldsV1",
            time: "2026-01-01T00:00:00Z",
            fieldsV1: { "f:data": owned(60_000) },
          },
        ],
      },
    }),
  },
  {
    name: "a Secret of 16,000 entries",
    id: "secret",
    ...secret,
    make: () => ({ data: numbered(16_000, "eA==") }),
  },
  {
    name: "a Secret of 1.4 MB",
    id: "secretbig",
    ...secret,
    make: () => ({ data: { a: "QUJD".repeat(350_000) } }),
  },
  {
    name: "a Service of 12,000 ports",
    id: "service",
    path: `${core}/services`,
    apiVersion: "v1",
    kind: "Service",
    make: () => ({ spec: { ports: repeat(12_000, (i) => ({ name: `p${i}`, port: (i % 65535) + 1 })) } }),
  },
  {
    name: "a Pod of 6,000 containers",
    id: "podcontainers",
    ...pod,
    make: () => ({ spec: { containers: repeat(6_000, (i) => ({ name: `c${i}`, image: "i", args: ["a"] })) } }),
  },
  {
    name: "a Pod of 16,000 variables",
    id: "podenv",
    ...pod,
    make: () => ({
      spec: { containers: [{ name: "c", image: "i", env: repeat(16_000, (i) => ({ name: `e${i}`, value: "v" })) }] },
    }),
  },
  {
    name: "a Pod of 8,000 volumes",
    id: "podvolumes",
    ...pod,
    make: () => ({
      spec: {
        containers: [
          { name: "c", image: "i", volumeMounts: repeat(8_000, (i) => ({ name: `v${i}`, mountPath: `/m${i}` })) },
        ],
        volumes: repeat(8_000, (i) => ({ name: `v${i}`, emptyDir: {} })),
      },
    }),
  },
  {
    name: "Endpoints of 15,000 addresses",
    id: "endpoints",
    path: `${core}/endpoints`,
    apiVersion: "v1",
    kind: "Endpoints",
    make: () => ({
      subsets: [
        {
          addresses: repeat(15_000, (i) => ({ ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` })),
          ports: repeat(5_000, (i) => ({ name: `p${i}`, port: i + 1 })),
        },
      ],
    }),
  },
  {
    name: "an EndpointSlice of 50,000 addresses",
    id: "slice",
    path: g("discovery.k8s.io/v1", "endpointslices"),
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    make: () => ({
      addressType: "IPv4",
      endpoints: repeat(1_000, (i) => ({ addresses: repeat(50, (j) => `10.1.${i & 255}.${j}`) })),
      ports: repeat(100, (i) => ({ name: `p${i}`, port: i + 1 })),
    }),
  },
  {
    name: "a Role of 8,000 rules",
    id: "role",
    path: g("rbac.authorization.k8s.io/v1", "roles"),
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    make: () => ({ rules: repeat(8_000, (i) => ({ apiGroups: [""], resources: [`r${i}`], verbs: ["get"] })) }),
  },
  {
    name: "a RoleBinding of 12,000 subjects",
    id: "rolebinding",
    path: g("rbac.authorization.k8s.io/v1", "rolebindings"),
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    make: () => ({
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
      subjects: repeat(12_000, (i) => ({ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: `u${i}` })),
    }),
  },
  {
    name: "a ClusterRole of 8,000 groups",
    id: "clusterrole",
    path: "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    make: () => ({ rules: repeat(8_000, (i) => ({ apiGroups: [`g${i}`], resources: ["*"], verbs: ["get"] })) }),
  },
  {
    name: "a Deployment of 6,000 containers",
    id: "deployment",
    path: g("apps/v1", "deployments"),
    apiVersion: "apps/v1",
    kind: "Deployment",
    make: () => ({
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: {
          metadata: { labels: { a: "b" } },
          spec: { containers: repeat(6_000, (i) => ({ name: `c${i}`, image: "i", args: ["a"] })) },
        },
      },
    }),
  },
  {
    name: "1,400 webhooks",
    id: "webhooks",
    path: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    make: () => ({
      webhooks: repeat(1400, (i) => ({
        name: `w${i}.a.b`,
        clientConfig: { url: "https://127.0.0.1:1/x" },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        failurePolicy: "Ignore",
        matchConditions: repeat(3, (j) => ({ name: `c${j}`, expression: "object.metadata.name == 'none'" })),
        rules: [{ operations: ["CREATE"], apiGroups: ["none.io"], apiVersions: ["v1"], resources: ["nothings"] }],
      })),
    }),
  },
  {
    name: "a VirtualService of 6,000 routes",
    id: "vsroutes",
    ...virtualService,
    make: () => ({
      spec: {
        hosts: ["a.default.svc.cluster.local"],
        http: repeat(6_000, (i) => ({
          match: [{ uri: { prefix: `/a${i}` } }],
          route: [{ destination: { host: "a" } }],
        })),
      },
    }),
  },
  {
    name: "a VirtualService of 4,000 patterns",
    id: "vsregex",
    ...virtualService,
    make: () => ({
      spec: {
        hosts: ["b.default.svc.cluster.local"],
        http: repeat(4_000, (i) => ({
          match: [{ uri: { regex: `/a${i}[a-z]{1,20}.*(x|y)+` }, headers: { a: { regex: ".*b+" } } }],
          route: [{ destination: { host: "a" } }],
        })),
      },
    }),
  },
  {
    name: "a VirtualService of 20,000 matches",
    id: "vsmatches",
    ...virtualService,
    make: () => ({
      spec: {
        hosts: ["c.default.svc.cluster.local"],
        http: [
          { match: repeat(20_000, (i) => ({ uri: { prefix: `/a${i}` } })), route: [{ destination: { host: "a" } }] },
        ],
      },
    }),
  },
  {
    name: "a VirtualService of 30,000 hosts",
    id: "vshosts",
    ...virtualService,
    make: () => ({ spec: { hosts: repeat(30_000, (i) => `h${i}.com`) } }),
  },
  {
    name: "a DestinationRule of 12,000 subsets",
    id: "drsubsets",
    path: g("networking.istio.io/v1", "destinationrules"),
    apiVersion: "networking.istio.io/v1",
    kind: "DestinationRule",
    make: () => ({
      spec: { host: "a", subsets: repeat(12_000, (i) => ({ name: `s${i}`, labels: { version: `v${i}` } })) },
    }),
  },
  {
    name: "a ServiceEntry of 12,000 endpoints",
    id: "seendpoints",
    ...serviceEntry,
    make: () => ({
      spec: {
        hosts: ["se.com"],
        ports: [{ number: 80, name: "http", protocol: "HTTP" }],
        resolution: "STATIC",
        endpoints: repeat(12_000, (i) => ({ address: `10.2.${(i >> 8) & 255}.${i & 255}`, labels: { a: "b" } })),
      },
    }),
  },
  {
    name: "a ServiceEntry of 256 hosts and ports",
    id: "sehosts",
    ...serviceEntry,
    make: () => ({
      spec: {
        hosts: repeat(256, (i) => `se${i}.com`),
        addresses: repeat(256, (i) => `240.1.0.${i}`),
        exportTo: repeat(20_000, (i) => `n${i}`),
        ports: repeat(256, (i) => ({ number: i + 1, name: `p${i}`, protocol: "HTTP" })),
        resolution: "DNS",
      },
    }),
  },
  {
    name: "a Gateway of 8,000 servers",
    id: "gateway",
    path: g("networking.istio.io/v1", "gateways"),
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    make: () => ({
      spec: {
        selector: { a: "b" },
        servers: repeat(8_000, (i) => ({
          port: { number: (i % 60_000) + 1, name: `p${i}`, protocol: "HTTP" },
          hosts: [`h${i}.com`],
        })),
      },
    }),
  },
  {
    name: "a Sidecar of 60,000 hosts",
    id: "sidecar",
    path: g("networking.istio.io/v1", "sidecars"),
    apiVersion: "networking.istio.io/v1",
    kind: "Sidecar",
    make: () => ({ spec: { egress: [{ hosts: repeat(60_000, (i) => `./h${i}.com`) }] } }),
  },
  {
    name: "an AuthorizationPolicy of 512 rules",
    id: "authz",
    path: g("security.istio.io/v1", "authorizationpolicies"),
    apiVersion: "security.istio.io/v1",
    kind: "AuthorizationPolicy",
    make: () => ({
      spec: {
        rules: repeat(512, (i) => ({
          from: repeat(10, (j) => ({ source: { ipBlocks: [`10.0.${j}.0/24`], principals: [`a/b${i}`] } })),
          to: [{ operation: { paths: repeat(40, (k) => `/p${k}`) } }],
        })),
      },
    }),
  },
  {
    name: "a RequestAuthentication of 4,096 issuers",
    id: "requestauth",
    path: g("security.istio.io/v1", "requestauthentications"),
    apiVersion: "security.istio.io/v1",
    kind: "RequestAuthentication",
    make: () => ({
      spec: {
        jwtRules: repeat(4096, (i) => ({ issuer: `i${i}`, jwksUri: `https://a.b/${i}`, audiences: ["a", "b"] })),
      },
    }),
  },
  {
    name: "an EnvoyFilter of 5,000 patches",
    id: "envoyfilter",
    ...envoyFilter,
    make: () => ({
      spec: {
        configPatches: repeat(5_000, (i) => ({
          applyTo: "CLUSTER",
          match: { cluster: { name: `c${i}` } },
          patch: { operation: "MERGE", value: { connect_timeout: "1s" } },
        })),
      },
    }),
  },
  {
    name: "an EnvoyFilter of one large patch",
    id: "envoyfilterdeep",
    ...envoyFilter,
    make: () => ({
      spec: {
        configPatches: [
          {
            applyTo: "CLUSTER",
            match: { cluster: { name: "c" } },
            patch: {
              operation: "MERGE",
              value: {
                metadata: { filter_metadata: { a: numbered(15_000, "x") } },
                load_assignment: { endpoints: repeat(8_000, () => ({ lb_endpoints: [] })) },
              },
            },
          },
        ],
      },
    }),
  },
  {
    name: "a Telemetry of 8,000 overrides",
    id: "telemetry",
    path: g("telemetry.istio.io/v1", "telemetries"),
    apiVersion: "telemetry.istio.io/v1",
    kind: "Telemetry",
    make: () => ({
      spec: {
        metrics: [
          {
            overrides: repeat(8_000, (i) => ({
              match: { customMetric: `m${i}` },
              tagOverrides: { a: { value: "b" } },
            })),
          },
        ],
      },
    }),
  },
  {
    name: "an HTTPRoute of 16 rules",
    id: "httproute",
    path: g("gateway.networking.k8s.io/v1", "httproutes"),
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "HTTPRoute",
    make: () => ({
      spec: {
        parentRefs: repeat(32, (i) => ({ name: `g${i}` })),
        hostnames: repeat(16, (i) => `h${i}.com`),
        rules: repeat(16, (i) => ({
          name: `r${i}`,
          matches: repeat(8, (j) => ({
            path: { type: "PathPrefix", value: `/a${i}/${j}` },
            headers: repeat(16, (k) => ({ name: `h${k}`, value: "v".repeat(200) })),
            queryParams: repeat(16, (k) => ({ name: `q${k}`, value: "v" })),
          })),
          filters: [
            {
              type: "RequestHeaderModifier",
              requestHeaderModifier: {
                add: repeat(16, (k) => ({ name: `h${k}`, value: "v" })),
                set: repeat(16, (k) => ({ name: `s${k}`, value: "v" })),
                remove: repeat(16, (k) => `r${k}`),
              },
            },
          ],
          backendRefs: repeat(16, (k) => ({
            name: `b${k}`,
            port: 80,
            filters: [
              {
                type: "RequestHeaderModifier",
                requestHeaderModifier: { add: repeat(16, (m) => ({ name: `h${m}`, value: "v" })) },
              },
            ],
          })),
        })),
      },
    }),
  },
  {
    name: "a GRPCRoute of 16 rules",
    id: "grpcroute",
    path: g("gateway.networking.k8s.io/v1", "grpcroutes"),
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "GRPCRoute",
    make: () => ({
      spec: {
        parentRefs: repeat(32, (i) => ({ name: `g${i}` })),
        rules: repeat(16, (i) => ({
          matches: repeat(8, (j) => ({
            method: { service: `a.b${i}`, method: `m${j}` },
            headers: repeat(16, (k) => ({ name: `h${k}`, value: "v" })),
          })),
          backendRefs: repeat(16, (k) => ({ name: `b${k}`, port: 80 })),
        })),
      },
    }),
  },
  {
    name: "a Kubernetes Gateway of 64 listeners",
    id: "kgateway",
    path: g("gateway.networking.k8s.io/v1", "gateways"),
    apiVersion: "gateway.networking.k8s.io/v1",
    kind: "Gateway",
    make: () => ({
      spec: {
        gatewayClassName: "istio",
        listeners: repeat(64, (i) => ({
          name: `l${i}`,
          port: 1_000 + i,
          protocol: "HTTP",
          hostname: `h${i}.com`,
          allowedRoutes: { namespaces: { from: "Selector", selector: { matchLabels: numbered(60, "x") } } },
        })),
      },
    }),
  },
  {
    name: "a CRD of 15,000 fields",
    id: "crdschema",
    ...customResourceDefinition,
    make: () =>
      definition(
        "many",
        "Many",
        Object.fromEntries(repeat(15_000, (i) => [`f${i}`, { type: "string", maxLength: 5 }])),
      ),
  },
  {
    name: "a CRD of 40 levels",
    id: "crddeep",
    ...customResourceDefinition,
    make: () =>
      definition("deep", "Deep", {
        spec: repeat(40, () => 0).reduce(
          (inner) => ({
            type: "object",
            properties: Object.fromEntries([["n", inner], ...repeat(200, (k) => [`p${k}`, { type: "integer" }])]),
          }),
          { type: "string" },
        ),
      }),
  },
];
