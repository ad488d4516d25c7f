/**
 * Each feature that the Gateway API's conformance suite knows, by its published name: the smallest objects that use it
 * in, and what Envoy is told because of it out. The list of those that work is what GatewayClasses claim.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../src/model/index.ts";
import { formatCertificate, formatPrivateKey, generateKey, issueCertificate } from "../../src/pki/index.ts";
import { missingFeatures, supportedFeatures } from "../../src/translate/index.ts";
import { type Json, type RenderedProxy, renderProxy } from "./offline.ts";

type Fields = Readonly<Record<string, unknown>>;

const api = "gateway.networking.k8s.io/v1";
const object = (apiVersion: string, kind: string, namespace: string, name: string, rest: Fields): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace, generation: 1, creationTimestamp: "2026-01-01T00:00:00Z" },
  ...rest,
});
const service = (name: string, port: Fields = {}): KubeObject =>
  object("v1", "Service", "shop", name, {
    spec: {
      clusterIP: "10.0.0.9",
      selector: { app: name },
      ports: [{ name: "http", port: 80, targetPort: 8080, protocol: "TCP", ...port }],
    },
  });
const pod = (name: string, namespace: string, labels: Fields, type: "router" | "sidecar"): KubeObject => ({
  ...object("v1", "Pod", namespace, name, {
    spec: { containers: [{ name: "istio-proxy", args: ["proxy", type] }] },
    status: { podIP: "10.1.0.1", phase: "Running" },
  }),
  metadata: { name, namespace, labels: labels as Readonly<Record<string, string>> },
});
async function certificateSecret(): Promise<KubeObject> {
  const { privateKey, publicKey } = await generateKey();
  const certificate = issueCertificate({
    profile: "ca",
    subject: { commonName: "a.example.com" },
    publicKey,
    signer: { certificate: undefined, key: privateKey },
    now: new Date(),
    ttlMs: 3600_000,
  });
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  const data = { "tls.crt": base64(formatCertificate(certificate)), "tls.key": base64(formatPrivateKey(privateKey)) };
  return object("v1", "Secret", "infra", "cert", { type: "kubernetes.io/tls", data });
}

const from = { namespaces: { from: "All" } };
const listener = (rest: Fields = {}): Fields => ({
  name: "http",
  port: 80,
  protocol: "HTTP",
  allowedRoutes: from,
  ...rest,
});
const gateway = (...listeners: readonly Fields[]): readonly KubeObject[] => [
  object(api, "Gateway", "infra", "edge", {
    spec: { gatewayClassName: "istio", listeners: listeners.length > 0 ? listeners : [listener()] },
  }),
  object("v1", "Service", "infra", "edge-istio", {
    spec: {
      clusterIP: "10.0.0.8",
      selector: { "gateway.networking.k8s.io/gateway-name": "edge" },
      ports: [80, 443, 8080, 9000].map((port) => ({ name: `p-${port}`, port, targetPort: port, protocol: "TCP" })),
    },
  }),
  pod("edge", "infra", { "gateway.networking.k8s.io/gateway-name": "edge" }, "router"),
];
const edge = { name: "edge", namespace: "infra" };
const route = (kind: string, spec: Fields, parents: readonly Fields[] = [edge]) =>
  object(kind === "TCPRoute" ? "gateway.networking.k8s.io/v1alpha2" : api, kind, "shop", "r", {
    spec: { parentRefs: parents, ...spec },
  });
const backendRefs = [{ name: "web", port: 80 }];
const http = (rule: Fields, spec: Fields = {}): KubeObject =>
  route("HTTPRoute", { rules: [{ backendRefs, ...rule }], ...spec });
const viaGateway = (...objects: readonly KubeObject[]): readonly KubeObject[] => [
  ...gateway(),
  service("web"),
  service("other"),
  ...objects,
];
const toService = (rule: Fields, parent: Fields = {}): readonly KubeObject[] => [
  pod("client", "shop", { app: "client" }, "sidecar"),
  service("web"),
  service("other"),
  route("HTTPRoute", { rules: [{ backendRefs, ...rule }] }, [{ group: "", kind: "Service", name: "web", ...parent }]),
];

const hosts = (rendered: RenderedProxy): readonly Json[] =>
  [...rendered.routes.values()].flatMap((config) => config.virtualHosts ?? []);
const routes = (rendered: RenderedProxy): readonly Json[] => hosts(rendered).flatMap((host) => host.routes ?? []);
/** The route that users' rules made, not a default one. */
const routed = (rendered: RenderedProxy): Json =>
  routes(rendered).find(
    (one) => JSON.stringify(one.name ?? "").includes("shop") || one.route?.cluster?.includes("web"),
  );
const text = (value: unknown): string => JSON.stringify(value);
const chains = (rendered: RenderedProxy): string => text([...rendered.listeners.values()]);

/** A Gateway that asks its callers for certificates. */
async function withClientCheck(mode: string): Promise<readonly KubeObject[]> {
  const https = { name: "https", port: 443, protocol: "HTTPS", tls: { certificateRefs: [{ name: "cert" }] } };
  const frontend = {
    default: { validation: { mode, caCertificateRefs: [{ group: "", kind: "ConfigMap", name: "ca" }] } },
  };
  const certificate = await certificateSecret();
  const pem = Buffer.from(String((certificate.data as Fields)["tls.crt"]), "base64").toString();
  return [
    ...gateway({ ...https, allowedRoutes: from }).map((one) =>
      one.kind === "Gateway" ? { ...one, spec: { ...(one.spec as Fields), tls: { frontend } } } : one,
    ),
    certificate,
    object("v1", "ConfigMap", "infra", "ca", { data: { "ca.crt": pem } }),
    service("web"),
    http({}),
  ];
}

/** With a route, and what it says of its addresses. */
const withAddress = (address: Fields): readonly KubeObject[] => [
  ...gateway().map((one) =>
    one.kind === "Gateway" ? { ...one, spec: { ...(one.spec as Fields), addresses: [address] } } : one,
  ),
  service("web"),
  http({}),
];

interface Feature {
  readonly objects: readonly KubeObject[];
  readonly shows: (rendered: RenderedProxy) => unknown;
}
const feature = (objects: readonly KubeObject[], shows: Feature["shows"]): Feature => ({ objects, shows });
/** The field that goes with a filter's type. */
const fieldOf: ReadonlyMap<string, string> = new Map([
  ["URLRewrite", "urlRewrite"],
  ["CORS", "cors"],
]);
const filter = (type: string, value: Fields): Fields => ({
  filters: [{ type, [fieldOf.get(type) ?? `${type.slice(0, 1).toLowerCase()}${type.slice(1)}`]: value }],
});
const redirect = (value: Fields): Feature["objects"] =>
  viaGateway(http({ backendRefs: undefined, ...filter("RequestRedirect", value) }));
const redirectOf = (rendered: RenderedProxy): Json => routes(rendered).find((one) => one.redirect)?.redirect;
const meshRedirect = (value: Fields): readonly KubeObject[] =>
  toService({ backendRefs: undefined, ...filter("RequestRedirect", value) });

const features: Readonly<Record<string, Feature>> = {
  Gateway: feature(viaGateway(http({})), (rendered) => rendered.listeners.has("0.0.0.0_80")),
  GatewayPort8080: feature([...gateway(listener({ port: 8080 })), service("web"), http({})], (rendered) =>
    rendered.listeners.has("0.0.0.0_8080"),
  ),
  GatewayStaticAddresses: feature(
    withAddress({ type: "Hostname", value: "edge-istio.infra.svc.cluster.local" }),
    (rendered) => rendered.listeners.size > 0,
  ),
  GatewayAddressEmpty: feature(withAddress({ type: "IPAddress" }), (rendered) => rendered.listeners.size > 0),
  // What the one listener's route allows is nobody's at the other's host.
  GatewayHTTPListenerIsolation: feature(
    [
      ...gateway(listener({ name: "any" }), listener({ name: "own", hostname: "*.example.com" })),
      service("web"),
      service("other"),
      route("HTTPRoute", { rules: [{ backendRefs }] }, [{ ...edge, sectionName: "any" }]),
      {
        ...route("HTTPRoute", { rules: [{ backendRefs: [{ name: "other", port: 80 }] }] }, [
          { ...edge, sectionName: "own" },
        ]),
        metadata: { name: "second", namespace: "shop", generation: 1 },
      },
    ],
    (rendered) => {
      const [own] = hosts(rendered).filter((host) => text(host.domains).includes("*.example.com"));
      return text(own).includes("||other.shop") && !text(own).includes("||web.shop");
    },
  ),
  GatewayFrontendClientCertificateValidation: feature(await withClientCheck("AllowValidOnly"), (rendered) =>
    chains(rendered).includes('"requireClientCertificate":true'),
  ),
  GatewayFrontendClientCertificateValidationInsecureFallback: feature(
    await withClientCheck("AllowInsecureFallback"),
    (rendered) => !chains(rendered).includes('"requireClientCertificate":true') && chains(rendered).includes("-cacert"),
  ),
  ListenerSet: feature(
    [
      ...gateway(listener()).map((one) =>
        one.kind === "Gateway" ? { ...one, spec: { ...(one.spec as Fields), allowedListeners: from } } : one,
      ),
      object(api, "ListenerSet", "infra", "more", {
        spec: { parentRef: { name: "edge" }, listeners: [listener({ name: "more", port: 9000 })] },
      }),
      service("web"),
      route("HTTPRoute", { rules: [{ backendRefs }] }, [{ kind: "ListenerSet", name: "more", namespace: "infra" }]),
    ],
    (rendered) => rendered.listeners.has("0.0.0.0_9000"),
  ),
  HTTPRoute: feature(viaGateway(http({ matches: [{ path: { type: "PathPrefix", value: "/a" } }] })), routed),
  HTTPRouteDestinationPortMatching: feature(
    viaGateway(route("HTTPRoute", { rules: [{ backendRefs }] }, [{ name: "edge", namespace: "infra", port: 80 }])),
    routed,
  ),
  HTTPRouteParentRefPort: feature(
    viaGateway(route("HTTPRoute", { rules: [{ backendRefs }] }, [{ name: "edge", namespace: "infra", port: 81 }])),
    (rendered) => routed(rendered) === undefined,
  ),
  HTTPRouteBackendRequestHeaderModification: feature(
    viaGateway(
      http({
        backendRefs: [
          { ...backendRefs[0], ...filter("RequestHeaderModifier", { set: [{ name: "x-a", value: "1" }] }) },
        ],
      }),
    ),
    (rendered) => text(routed(rendered)).includes("x-a"),
  ),
  HTTPRouteQueryParamMatching: feature(
    viaGateway(http({ matches: [{ queryParams: [{ name: "q", value: "1" }] }] })),
    (rendered) => routed(rendered).match.queryParameters,
  ),
  HTTPRouteMethodMatching: feature(viaGateway(http({ matches: [{ method: "PUT" }] })), (rendered) =>
    text(routed(rendered).match).includes("PUT"),
  ),
  HTTPRouteResponseHeaderModification: feature(
    viaGateway(http(filter("ResponseHeaderModifier", { add: [{ name: "x-b", value: "2" }] }))),
    (rendered) => text(routed(rendered).responseHeadersToAdd).includes("x-b"),
  ),
  HTTPRoutePortRedirect: feature(redirect({ port: 8443 }), (rendered) => redirectOf(rendered).portRedirect === 8443),
  HTTPRouteSchemeRedirect: feature(
    redirect({ scheme: "https" }),
    (rendered) => redirectOf(rendered).schemeRedirect === "https",
  ),
  HTTPRoutePathRedirect: feature(
    redirect({ path: { type: "ReplaceFullPath", replaceFullPath: "/new" } }),
    (rendered) => redirectOf(rendered).pathRedirect === "/new",
  ),
  HTTPRoute303RedirectStatusCode: feature(
    redirect({ statusCode: 303 }),
    (rendered) => redirectOf(rendered).responseCode === "SEE_OTHER",
  ),
  HTTPRoute307RedirectStatusCode: feature(
    redirect({ statusCode: 307 }),
    (rendered) => redirectOf(rendered).responseCode === "TEMPORARY_REDIRECT",
  ),
  HTTPRoute308RedirectStatusCode: feature(
    redirect({ statusCode: 308 }),
    (rendered) => redirectOf(rendered).responseCode === "PERMANENT_REDIRECT",
  ),
  HTTPRouteHostRewrite: feature(
    viaGateway(http(filter("URLRewrite", { hostname: "other.example.com" }))),
    (rendered) => routed(rendered).route.hostRewriteLiteral === "other.example.com",
  ),
  HTTPRoutePathRewrite: feature(
    viaGateway(
      http({
        matches: [{ path: { type: "PathPrefix", value: "/old" } }],
        ...filter("URLRewrite", { path: { type: "ReplacePrefixMatch", replacePrefixMatch: "/new" } }),
      }),
    ),
    (rendered) => /ewrite/.test(text(routed(rendered).route)),
  ),
  HTTPRouteRequestMirror: feature(
    viaGateway(http(filter("RequestMirror", { backendRef: { name: "other", port: 80 } }))),
    (rendered) => routed(rendered).route.requestMirrorPolicies.length === 1,
  ),
  HTTPRouteRequestMultipleMirrors: feature(
    viaGateway(
      http({
        filters: ["other", "web"].map((name) => ({
          type: "RequestMirror",
          requestMirror: { backendRef: { name, port: 80 } },
        })),
      }),
    ),
    (rendered) => routed(rendered).route.requestMirrorPolicies.length === 2,
  ),
  HTTPRouteRequestPercentageMirror: feature(
    viaGateway(http(filter("RequestMirror", { backendRef: { name: "other", port: 80 }, percent: 25 }))),
    (rendered) => text(routed(rendered).route.requestMirrorPolicies).includes("25"),
  ),
  HTTPRouteRequestTimeout: feature(
    viaGateway(http({ timeouts: { request: "3s" } })),
    (rendered) => routed(rendered).route.timeout === "3s",
  ),
  HTTPRouteBackendTimeout: feature(viaGateway(http({ timeouts: { backendRequest: "2s" } })), (rendered) =>
    /"2s"/.test(text(routed(rendered).route)),
  ),
  HTTPRouteBackendProtocolH2C: feature(
    [...gateway(), service("web", { appProtocol: "kubernetes.io/h2c" }), http({})],
    (rendered) => text(rendered.clusters.get("outbound|80||web.shop.svc.cluster.local")).includes("http2Protocol"),
  ),
  HTTPRouteBackendProtocolWebSocket: feature(
    [...gateway(), service("web", { appProtocol: "kubernetes.io/ws" }), http({})],
    (rendered) => chains(rendered).includes("websocket"),
  ),
  HTTPRouteNamedRouteRule: feature(viaGateway(http({ name: "the-rule" })), routed),
  HTTPRouteCORS: feature(
    viaGateway(http(filter("CORS", { allowOrigins: ["https://a.example.com"], allowMethods: ["GET"] }))),
    (rendered) => text(routed(rendered).typedPerFilterConfig).includes("a.example.com"),
  ),
  HTTPRouteRetry: feature(
    viaGateway(http({ retry: { codes: [503], attempts: 4 } })),
    (rendered) => routed(rendered).route.retryPolicy.numRetries === 4,
  ),
  HTTPRouteRetryConnectionError: feature(viaGateway(http({ retry: { attempts: 4 } })), (rendered) =>
    text(routed(rendered).route.retryPolicy.retryOn).includes("connect-failure"),
  ),
  HTTPRouteRetryBackendTimeout: feature(
    viaGateway(http({ retry: { attempts: 2 }, timeouts: { backendRequest: "1s" } })),
    (rendered) => routed(rendered).route.retryPolicy.perTryTimeout === "1s",
  ),
  GRPCRoute: feature(
    viaGateway(
      route("GRPCRoute", { rules: [{ matches: [{ method: { service: "a.B", method: "C" } }], backendRefs }] }),
    ),
    (rendered) => text(routed(rendered).match).includes("/a.B/C"),
  ),
  GRPCRouteRequestHeaderModifier: feature(
    viaGateway(
      route("GRPCRoute", {
        rules: [{ backendRefs, ...filter("RequestHeaderModifier", { set: [{ name: "x-a", value: "1" }] }) }],
      }),
    ),
    (rendered) => text(routed(rendered)).includes("x-a"),
  ),
  GRPCRouteNamedRouteRule: feature(viaGateway(route("GRPCRoute", { rules: [{ name: "named", backendRefs }] })), routed),
  TCPRoute: feature(
    [
      ...gateway({ name: "tcp", port: 9000, protocol: "TCP", allowedRoutes: from }),
      service("web"),
      route("TCPRoute", { rules: [{ backendRefs }] }),
    ],
    (rendered) => text(rendered.listeners.get("0.0.0.0_9000")).includes("outbound|80||web.shop.svc.cluster.local"),
  ),
  TLSRoute: feature(
    [
      ...gateway({ name: "tls", port: 443, protocol: "TLS", tls: { mode: "Passthrough" }, allowedRoutes: from }),
      service("web"),
      route("TLSRoute", { hostnames: ["a.example.com"], rules: [{ backendRefs }] }),
    ],
    (rendered) => chains(rendered).includes('"serverNames":["a.example.com"]'),
  ),
  TLSRouteModeTerminate: feature(
    [
      ...gateway({
        name: "tls",
        port: 443,
        protocol: "TLS",
        tls: { mode: "Terminate", certificateRefs: [{ name: "cert" }] },
        allowedRoutes: from,
      }),
      await certificateSecret(),
      service("web"),
      route("TLSRoute", { hostnames: ["a.example.com"], rules: [{ backendRefs }] }),
    ],
    (rendered) => chains(rendered).includes("kubernetes-gateway://infra/cert"),
  ),
  TLSRouteModeMixed: feature(
    [
      ...gateway(
        {
          name: "pass",
          hostname: "p.example.com",
          port: 443,
          protocol: "TLS",
          tls: { mode: "Passthrough" },
          allowedRoutes: from,
        },
        {
          name: "end",
          hostname: "t.example.com",
          port: 443,
          protocol: "TLS",
          tls: { mode: "Terminate", certificateRefs: [{ name: "cert" }] },
          allowedRoutes: from,
        },
      ),
      await certificateSecret(),
      service("web"),
      route("TLSRoute", { hostnames: ["p.example.com", "t.example.com"], rules: [{ backendRefs }] }),
    ],
    (rendered) => {
      const found = [...rendered.listeners.values()].flatMap((one) => one.filterChains ?? []);
      const of = (name: string) => found.find((chain) => chain.filterChainMatch?.serverNames?.includes(name));
      return of("p.example.com") && !of("p.example.com").transportSocket && of("t.example.com")?.transportSocket;
    },
  ),
  Mesh: feature(toService({ matches: [{ path: { type: "Exact", value: "/mesh" } }] }), (rendered) =>
    text(routes(rendered)).includes('"/mesh"'),
  ),
  MeshClusterIPMatching: feature(toService({ matches: [{ path: { type: "Exact", value: "/mesh" } }] }), (rendered) =>
    hosts(rendered).some(({ domains, routes: own }) => domains.includes("10.0.0.9") && text(own).includes("/mesh")),
  ),
  MeshConsumerRoute: feature(
    [
      pod("client", "client", { app: "client" }, "sidecar"),
      service("web"),
      {
        ...object(api, "HTTPRoute", "client", "r", {
          spec: {
            parentRefs: [{ group: "", kind: "Service", name: "web", namespace: "shop" }],
            rules: [
              {
                matches: [{ path: { type: "Exact", value: "/consumer" } }],
                backendRefs: [{ name: "web", namespace: "shop", port: 80 }],
              },
            ],
          },
        }),
      },
    ],
    (rendered) => text(routes(rendered)).includes("/consumer"),
  ),
  MeshHTTPRouteRewritePath: feature(
    toService(filter("URLRewrite", { path: { type: "ReplaceFullPath", replaceFullPath: "/new" } })),
    (rendered) => text(routes(rendered)).includes("/new"),
  ),
  MeshHTTPRouteSchemeRedirect: feature(
    meshRedirect({ scheme: "https" }),
    (rendered) => redirectOf(rendered).schemeRedirect === "https",
  ),
  MeshHTTPRouteRedirectPort: feature(
    meshRedirect({ port: 8443 }),
    (rendered) => redirectOf(rendered).portRedirect === 8443,
  ),
  MeshHTTPRouteRedirectPath: feature(
    meshRedirect({ path: { type: "ReplaceFullPath", replaceFullPath: "/new" } }),
    (rendered) => redirectOf(rendered).pathRedirect === "/new",
  ),
  MeshHTTPRouteBackendRequestHeaderModification: feature(
    toService({
      backendRefs: [{ ...backendRefs[0], ...filter("RequestHeaderModifier", { set: [{ name: "x-a", value: "1" }] }) }],
    }),
    (rendered) => text(routes(rendered)).includes("x-a"),
  ),
  MeshHTTPRouteQueryParamMatching: feature(
    toService({ matches: [{ queryParams: [{ name: "q", value: "1" }] }] }),
    (rendered) => text(routes(rendered)).includes("queryParameters"),
  ),
  MeshHTTPRouteNamedRouteRule: feature(
    toService({ name: "named", matches: [{ path: { type: "Exact", value: "/mesh" } }] }),
    (rendered) => text(routes(rendered)).includes("/mesh"),
  ),
  ReferenceGrant: feature(
    [
      ...gateway(),
      service("web"),
      {
        ...object(api, "HTTPRoute", "infra", "r", {
          spec: {
            parentRefs: [{ name: "edge" }],
            rules: [{ backendRefs: [{ name: "web", namespace: "shop", port: 80 }] }],
          },
        }),
      },
      object("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", "shop", "g", {
        spec: {
          from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "infra" }],
          to: [{ group: "", kind: "Service" }],
        },
      }),
    ],
    (rendered) => text(routes(rendered)).includes("outbound|80||web.shop"),
  ),
  BackendTLSPolicy: feature(
    viaGateway(
      http({}),
      object(api, "BackendTLSPolicy", "shop", "p", {
        spec: {
          targetRefs: [{ group: "", kind: "Service", name: "web" }],
          validation: { hostname: "web.example.com", wellKnownCACertificates: "System" },
        },
      }),
    ),
    (rendered) => text(rendered.clusters.get("outbound|80||web.shop.svc.cluster.local")).includes("web.example.com"),
  ),
  BackendTLSPolicySANValidation: feature(
    viaGateway(
      http({}),
      object(api, "BackendTLSPolicy", "shop", "p", {
        spec: {
          targetRefs: [{ group: "", kind: "Service", name: "web" }],
          validation: {
            hostname: "web.example.com",
            wellKnownCACertificates: "System",
            subjectAltNames: [{ type: "Hostname", hostname: "san.example.com" }],
          },
        },
      }),
    ),
    (rendered) => text(rendered.clusters.get("outbound|80||web.shop.svc.cluster.local")).includes("san.example.com"),
  ),
};

test.each(Object.entries(features))("%s", async (_name, { objects, shows }) => {
  expect(shows(await renderProxy({ objects }))).toBeTruthy();
});

/** About the objects that run a Gateway: test/cluster/gateways.test.ts. */
const notInEnvoy = ["GatewayInfrastructurePropagation"];

describe("what is claimed", () => {
  test("is what is tested here", () => {
    expect([...supportedFeatures].sort()).toEqual([...Object.keys(features), ...notInEnvoy].sort());
    expect([...missingFeatures.keys()].filter((name) => Object.hasOwn(features, name))).toEqual([]);
  });

  test("is what docs/reference/gateway-api.md says", () => {
    const doc = readFileSync(join(import.meta.dirname, "../../docs/reference/gateway-api.md"), "utf8");
    const rows = [...doc.matchAll(/^\| `(\w+)` \| (works|not yet)/gm)].map(([, name = "", state = ""]) => [
      name,
      state,
    ]);
    const expected = [
      ...[...supportedFeatures].map((name) => [name, "works"]),
      ...[...missingFeatures.keys()].map((name) => [name, "not yet"]),
    ];
    expect(rows.sort()).toEqual(expected.sort());
  });
});
