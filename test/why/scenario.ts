/** A seed in; the traffic rules and policies of one round out, as users would write them, good and bad. */
import type { KubeObject } from "../../src/model/index.ts";
import { scenarios } from "../policy/scenario.ts";
import type { Random } from "../random.ts";
import { istio } from "../render/objects.ts";
import { meshConfig } from "../traffic/mesh.ts";

type Spec = Readonly<Record<string, unknown>>;

export const paths = [
  "/",
  "/admin",
  "/admin/x",
  "/items/42",
  "/items/42/info",
  "/public/info",
  "/old/page",
  "/Files/a",
  "/v1/users",
];
export const gatewayHosts = ["shop.example.com", "api.example.com", "tls.example.com", "other.test"];

export interface Round {
  readonly objects: readonly KubeObject[];
  /** Names of what is in it. */
  readonly words: readonly string[];
}

const maybe = <T>(random: Random, chance: number, make: () => T): readonly T[] =>
  random.chance(chance) ? [make()] : [];

export function randomRound(
  random: Random,
  jwks: readonly [string, string],
  places: { readonly plain: string; readonly external: string },
  logFile: string,
): Round {
  const policy = random.pick(scenarios.filter(({ policies }) => !JSON.stringify(policies).includes("CUSTOM")));
  const withTokens = policy.tokens ?? (random.chance(0.3) ? "one issuer" : undefined);
  const port = random.pick(["8080", "9090", "9091", "7070"]);
  const policies = random.chance(0.75) ? policy.policies : [];
  const entry = maybe(random, 0.7, () => externalEntry(random, places.plain, places.external));
  const objects: KubeObject[] = [
    meshConfig({
      accessLogFile: logFile,
      accessLogEncoding: "JSON",
      accessLogFormat: JSON.stringify(logFormat),
      outboundTrafficPolicy: { mode: random.pick(["ALLOW_ANY", "ALLOW_ANY", "REGISTRY_ONLY"]) },
      pathNormalization: { normalization: random.pick(["NONE", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"]) },
      extensionProviders: [],
    }),
    ...maybe(random, 0.9, () => virtualService(random)),
    // Clusters that are gone are drained for a while, so subsets stay.
    destinationRule(random),
    ...maybe(random, 0.6, () => istio("PeerAuthentication", "mtls", peerAuthentication(random))),
    ...policies.map((spec, i) =>
      security("AuthorizationPolicy", `p${i}`, placed(spec, port, random), spec.dryRun === true),
    ),
    ...(withTokens ? [security("RequestAuthentication", "tokens", jwtRules(jwks, withTokens === "two issuers"))] : []),
    gateway(random),
    gatewayRoutes(random),
    ...entry,
    // What is gone is drained for a while: only what is there is named.
    ...(entry.length > 0 ? maybe(random, 0.5, () => istio("VirtualService", "tcp", tcpRoutes(random))) : []),
    ...maybe(random, 0.3, () =>
      istio("Sidecar", "default", {
        egress: [{ hosts: random.pick([["./*"], ["./web.default.svc.cluster.local"], ["*/*"]]) }],
      }),
    ),
  ];
  return { objects, words: [policy.name, ...objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`)] };
}

const logFormat = {
  pod: "%ENVIRONMENT(POD_NAME)%",
  why: "%REQ(X-WHY)%",
  code: "%RESPONSE_CODE%",
  flags: "%RESPONSE_FLAGS%",
  details: "%RESPONSE_CODE_DETAILS%",
  ended: "%CONNECTION_TERMINATION_DETAILS%",
  route: "%ROUTE_NAME%",
  cluster: "%UPSTREAM_CLUSTER_RAW%",
  endpoint: "%UPSTREAM_HOST%",
  from: "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS%",
  through: "%UPSTREAM_LOCAL_ADDRESS%",
  chain: "%FILTER_CHAIN_NAME%",
};

function security(kind: string, name: string, spec: Spec, dryRun = false): KubeObject {
  const annotations = dryRun ? { annotations: { "istio.io/dry-run": "true" } } : {};
  return { apiVersion: "security.istio.io/v1", kind, metadata: { name, namespace: "default", ...annotations }, spec };
}

function placed({ dryRun: _, ...spec }: Spec, port: string, random: Random): Spec {
  const own = JSON.parse(
    JSON.stringify(spec)
      .replaceAll('"PORT"', `"${port}"`)
      .replaceAll("ns/shop/sa/web", "ns/default/sa/client")
      .replaceAll("*/sa/web", "*/sa/client")
      .replaceAll('"shop"', '"default"'),
  ) as Spec;
  const selector = random.pick([{ app: "web" }, { app: "web", version: "v1" }, null, { app: "edge" }]);
  return { ...own, ...(selector ? { selector: { matchLabels: selector } } : {}) };
}

function jwtRules([first, second]: readonly [string, string], both: boolean): Spec {
  const audiences = ["web", "orders"];
  return {
    jwtRules: [
      { issuer: "https://issuer.example", jwks: first, audiences, forwardOriginalToken: true },
      ...(both ? [{ issuer: "https://second.example", jwks: second, audiences, forwardOriginalToken: true }] : []),
    ],
  };
}

function textMatch(random: Random, value: string): Spec {
  return random.pick([
    { exact: value },
    { prefix: value.slice(0, 4) },
    { regex: `${value.slice(0, 3).replace(/[^a-z/]/g, ".")}.*` },
  ]);
}

function match(random: Random): Spec {
  return {
    ...(random.chance(0.8) ? { uri: textMatch(random, random.pick(paths)) } : {}),
    ...(random.chance(0.1) ? { ignoreUriCase: true } : {}),
    ...(random.chance(0.25) ? { method: { exact: random.pick(["GET", "POST"]) } } : {}),
    ...(random.chance(0.3)
      ? { headers: { "x-role": random.pick([{ exact: "admin" }, { prefix: "adm" }, {}, { regex: "a.*|guest" }]) } }
      : {}),
    ...(random.chance(0.15) ? { withoutHeaders: { "x-tenant": random.pick([{}, { exact: "acme" }]) } } : {}),
    ...(random.chance(0.2)
      ? { queryParams: { q: random.pick([{ exact: "1" }, { regex: "[0-9]+" }, { prefix: "a" }]) } }
      : {}),
    ...(random.chance(0.1) ? { authority: { exact: "web" } } : {}),
  };
}

function destination(random: Random, host = "web"): Spec {
  const subset = random.pick(["", "", "v1", "v2", "empty", "missing"]);
  return { host, port: { number: 80 }, ...(subset !== "" && host === "web" ? { subset } : {}) };
}

function action(random: Random): Spec {
  const kind = random.whole(10);
  if (kind === 0)
    return {
      redirect: random.pick([{ uri: "/new" }, { authority: "elsewhere.test", redirectCode: 308 }, { scheme: "https" }]),
    };
  if (kind === 1) return { directResponse: { status: random.pick([200, 404, 418, 503]), body: { string: "said" } } };
  const weights = random.whole(99) + 1;
  const routes = random.chance(0.4)
    ? [
        { destination: destination(random), weight: weights },
        {
          destination: destination(random),
          weight: 100 - weights,
          ...(random.chance(0.3) ? { headers: { request: { set: { "x-role": "guest" } } } } : {}),
        },
      ]
    : [{ destination: destination(random) }];
  return {
    route: routes,
    ...(random.chance(0.2)
      ? { fault: { abort: { percentage: { value: random.pick([100, 50, 0]) }, httpStatus: random.pick([418, 503]) } } }
      : {}),
    ...(random.chance(0.15)
      ? { fault: { delay: { percentage: { value: random.pick([100, 30]) }, fixedDelay: "0.01s" } } }
      : {}),
    ...(random.chance(0.3)
      ? {
          rewrite: random.pick([
            { uri: "/admin" },
            { uri: "/" },
            { authority: "inner.test" },
            { uriRegexRewrite: { match: "/v[0-9]/(.*)", rewrite: "/\\1" } },
          ]),
        }
      : {}),
    ...(random.chance(0.3)
      ? {
          headers: {
            request: random.pick([
              { set: { "x-role": "admin" } },
              { add: { "x-role": "more" } },
              { remove: ["x-role"] },
              { set: { ":authority": "set.test" } },
            ]),
          },
        }
      : {}),
    ...(random.chance(0.2)
      ? { corsPolicy: { allowOrigins: [{ exact: "https://good.test" }], allowMethods: ["GET"] } }
      : {}),
    ...(random.chance(0.15) ? { retries: { attempts: random.pick([0, 1, 3]), retryOn: "5xx" } } : {}),
    ...(random.chance(0.1) ? { mirror: { host: "web", subset: "v1" } } : {}),
  };
}

/** Routes have names that tell them apart. */
function routes(random: Random, prefix: string): readonly Spec[] {
  return Array.from({ length: 2 + random.whole(6) }, (_, i) => ({
    name: `${prefix}${i}`,
    ...(random.chance(0.85) ? { match: Array.from({ length: 1 + random.whole(2) }, () => match(random)) } : {}),
    ...action(random),
  }));
}

const virtualService = (random: Random): KubeObject =>
  istio("VirtualService", "web", { hosts: random.pick([["web"], ["web", "*.wild.test"]]), http: routes(random, "r") });

function destinationRule(random: Random): KubeObject {
  const tls = random.pick([null, null, { mode: "DISABLE" }, { mode: "ISTIO_MUTUAL" }]);
  return istio("DestinationRule", "web", {
    host: "web",
    ...(tls ? { trafficPolicy: { tls } } : {}),
    subsets: [
      { name: "v1", labels: { version: "v1" } },
      {
        name: "v2",
        labels: { version: "v2" },
        ...(random.chance(0.2) ? { trafficPolicy: { tls: { mode: "DISABLE" } } } : {}),
      },
      { name: "empty", labels: { version: "none" } },
    ],
  });
}

function peerAuthentication(random: Random): Spec {
  const mode = (): string => random.pick(["STRICT", "PERMISSIVE", "DISABLE"]);
  return {
    ...(random.chance(0.5) ? { selector: { matchLabels: { app: "web" } } } : {}),
    mtls: { mode: mode() },
  };
}

function gateway(random: Random): KubeObject {
  return istio("Gateway", "edge", {
    selector: { app: "edge" },
    servers: [
      {
        port: { number: 80, name: "http", protocol: "HTTP" },
        hosts: random.pick([["*"], ["shop.example.com", "*.example.com"]]),
        ...(random.chance(0.15) ? { tls: { httpsRedirect: true } } : {}),
      },
      {
        port: { number: 443, name: "https", protocol: "HTTPS" },
        hosts: ["shop.example.com", "api.example.com"],
        tls: { mode: "SIMPLE", credentialName: "edge" },
      },
      {
        port: { number: 443, name: "pass", protocol: "TLS" },
        hosts: ["tls.example.com"],
        tls: { mode: "PASSTHROUGH" },
      },
      { port: { number: 9000, name: "tcp", protocol: "TCP" }, hosts: ["*"] },
    ],
  });
}

function gatewayRoutes(random: Random): KubeObject {
  return istio("VirtualService", "edge", {
    hosts: random.pick([["*"], ["shop.example.com", "tls.example.com"], ["*.example.com"]]),
    gateways: ["edge"],
    http: routes(random, "g"),
    tls: [
      {
        match: [{ port: 443, sniHosts: ["tls.example.com"] }],
        route: [{ destination: { host: "web", port: { number: 443 } } }],
      },
    ],
    tcp: [{ match: [{ port: 9000 }], route: [{ destination: { host: "web", port: { number: 90 } } }] }],
  });
}

function externalEntry(random: Random, address: string, external: string): KubeObject {
  return istio("ServiceEntry", "external", {
    hosts: ["external.test"],
    addresses: [external],
    location: "MESH_EXTERNAL",
    resolution: "STATIC",
    ports: [
      { number: 80, name: "http", protocol: "HTTP", targetPort: 8080 },
      { number: 443, name: "tls", protocol: "TLS", targetPort: 8443 },
      { number: 90, name: "tcp", protocol: "TCP", targetPort: 9090 },
    ],
    endpoints: [{ address }],
    ...(random.chance(0.2) ? { exportTo: ["."] } : {}),
  });
}

function tcpRoutes(random: Random): Spec {
  const weight = random.whole(101);
  return {
    hosts: ["web"],
    tcp: [
      {
        match: [{ port: 90 }],
        route: [
          { destination: { host: "web", port: { number: 90 } }, weight },
          { destination: { host: "external.test", port: { number: 90 } }, weight: 100 - weight },
        ],
      },
    ],
  };
}
