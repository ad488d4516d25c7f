import { beforeAll, describe, expect, test } from "vitest";
import { kinds } from "../../model/index.ts";
import { type CelRules, loadCel, validateConfig } from "../index.ts";

let cel: CelRules;
beforeAll(async () => {
  cel = await loadCel();
});

function judge(kindName: string, spec: unknown, metadata: object = {}) {
  const kind = kinds.find((one) => one.kind === kindName && one.encoding === "protobuf");
  if (!kind) throw new Error(`no kind ${kindName}`);
  const { errors, warnings } = validateConfig(
    kind,
    { metadata: { name: "a", namespace: "n", ...metadata }, spec },
    { cel },
  );
  const show = ({ path, message }: { path: string; message: string }) => `${path}: ${message}`;
  return { errors: errors.map(show), warnings: warnings.map(show) };
}

const to = (host: string) => [{ destination: { host } }];
const vs = (http: object) => ({ hosts: ["a.com"], http: [{ route: to("a"), ...http }] });

type Case = readonly [what: string, spec: unknown, errors: readonly string[], warnings?: readonly string[]];

const cases: Readonly<Record<string, readonly Case[]>> = {
  VirtualService: [
    ["a plain route", vs({}), []],
    [
      "no hosts but gateways",
      { gateways: ["g"], http: [{ route: to("a") }] },
      ["spec: delegate virtual service must have no gateways specified"],
    ],
    [
      "* on the mesh",
      { hosts: ["*"], http: [{ route: to("a") }] },
      ["spec.hosts[0]: wildcard host * is not allowed for virtual services bound to the mesh gateway"],
    ],
    ["* on a gateway", { hosts: ["*"], gateways: ["n/g"], http: [{ route: to("a") }] }, []],
    [
      "hosts that overlap",
      { hosts: ["*.a.com", "b.a.com"], http: [{ route: to("a") }] },
      ["spec.hosts[0]: duplicate hosts in virtual service: *.a.com & b.a.com"],
    ],
    ["an address as host", { hosts: ["1.2.3.4"], http: [{ route: to("a") }] }, []],
    [
      "a numeric top level",
      { hosts: ["a.1"], http: [{ route: to("a") }] },
      ['spec.hosts[0]: domain name "1" invalid (top level domain "1" cannot be all-numeric)'],
    ],
    [
      "claims on the mesh",
      vs({ match: [{ headers: { "@request.auth.claims.sub": { exact: "x" } } }] }),
      [
        "spec.http[0].match[0].headers: JWT claim based routing (key: @request.auth.claims.sub) is only supported for gateway, found no gateways: []",
      ],
    ],
    [
      "an old gateway name",
      { hosts: ["a.com"], gateways: ["g.n"], http: [{ route: to("a") }] },
      [],
      ['spec.gateways[0]: using legacy gatewayName format "g.n"; prefer the <namespace>/<name> format: "n/g"'],
    ],
    [
      "an empty prefix",
      vs({ match: [{ uri: { prefix: "" } }, { method: { prefix: "" } }] }),
      ['spec.http[0].match[1].method: "method": prefix string match should not be empty'],
    ],
    [
      "a wrong pattern",
      vs({ match: [{ uri: { regex: "a(?=b)" } }] }),
      [expect.stringMatching(/^spec.http\[0\].match\[0\].uri: "uri": .*RE2 style/)],
    ],
    ["present as withoutHeaders", vs({ match: [{ withoutHeaders: { h: { regex: "*" } } }] }), []],
    [
      "a bad header name",
      vs({ match: [{ headers: { "a b": { exact: "x" } } }] }),
      ["spec.http[0].match[0].headers: header name a b is not a valid header name"],
    ],
    [
      "setting Host in the answer",
      vs({ headers: { response: { set: { Host: "x" } } } }),
      ['spec.http[0].headers.response.set: invalid header "Host": cannot set Host header'],
    ],
    [
      "a header value with a newline",
      vs({ headers: { request: { set: { a: "x\r\ny" } } } }),
      ["spec.http[0].headers.request.set: header value configuration x\r\ny is invalid"],
    ],
    [
      "a lone percent sign",
      vs({ headers: { request: { set: { a: "100%" } } } }),
      ["spec.http[0].headers.request.set: header value configuration: invalid header configuration. Un-escaped %"],
    ],
    [
      "variables in a value",
      vs({ headers: { request: { set: { a: '%REQ(X)% %DYNAMIC_METADATA(["a", "b"])% 5%%' } } } }),
      [],
    ],
    [
      "the authority twice",
      vs({ rewrite: { authority: "x" }, headers: { request: { set: { ":authority": "y" } } } }),
      ['spec.http[0]: authority header cannot be set multiple times: have "x", attempting to set "y"'],
    ],
    ["a status as retryOn", vs({ retries: { attempts: 1, retryOn: "503,reset" } }), []],
    [
      "an unknown retryOn",
      vs({ retries: { attempts: 1, retryOn: "599" } }),
      ['spec.http[0].retries.retryOn: "599" is not a valid retryOn policy'],
    ],
    [
      "a redirect to nothing",
      { hosts: ["a.com"], http: [{ redirect: { redirectCode: 301 } }] },
      ["spec.http[0].redirect: redirect must specify URI, authority, scheme, or port"],
    ],
    [
      "a redirect with its own port",
      { hosts: ["a.com"], http: [{ redirect: { derivePort: "FROM_REQUEST_PORT" } }] },
      [],
    ],
    [
      "mirror and mirrors",
      vs({ mirror: { host: "m" }, mirrors: [{ destination: { host: "m" } }] }),
      ["spec.http[0]: HTTP route cannot contain both mirror and mirrors"],
    ],
    [
      "mirrorPercent",
      vs({ mirror: { host: "m" }, mirrorPercent: 5 }),
      [],
      ['spec.http[0].mirrorPercent: using deprecated setting "mirrorPercent", use "mirrorPercentage" instead'],
    ],
    [
      "a delegate in a delegate",
      { http: [{ delegate: { name: "d" }, route: to("a") }] },
      ["spec.http[0]: delegate HTTP route cannot contain delegate"],
    ],
    [
      "SNI outside of the hosts",
      { hosts: ["a.com"], tls: [{ match: [{ sniHosts: ["b.com"] }], route: to("a") }] },
      [
        'spec.tls[0].match[0].sniHosts[0]: SNI host "b.com" is not a compatible subset of any of the virtual service hosts: [a.com]',
      ],
    ],
    [
      "AUTO_PASSTHROUGH's SNI",
      { hosts: ["*"], gateways: ["n/g"], tls: [{ match: [{ sniHosts: ["outbound_.80_._.a.b"] }], route: to("a") }] },
      [],
    ],
    [
      "weights that sum to nothing",
      { hosts: ["a.com"], tcp: [{ route: [...to("a"), ...to("b")] }] },
      ["spec.tcp[0].route: total destination weight = 0"],
    ],
    [
      "a covered prefix",
      {
        hosts: ["a.com"],
        http: [
          { match: [{ uri: { prefix: "/a" } }], route: to("a") },
          { match: [{ uri: { prefix: "/ab" } }], route: to("a") },
        ],
      },
      [],
      [
        "spec.http[1].match[0]: virtualService rule #1 match #0 of prefix /ab is not used (duplicate/overlapping match in rule #0 of prefix /a on #0)",
      ],
    ],
    [
      "a rule after a catch-all",
      { hosts: ["a.com"], tcp: [{ route: to("a") }, { match: [{ port: 1 }], route: to("a") }] },
      [],
      ["spec.tcp[1].match[0]: virtualService rule #1 not used (route without matches defined before)"],
    ],
  ],
  DestinationRule: [
    [
      "nothing in the policy",
      { host: "a", trafficPolicy: {} },
      ["spec.trafficPolicy: traffic policy must have at least one field"],
    ],
    [
      "subsets twice",
      { host: "a", subsets: [{ name: "v" }, { name: "v" }] },
      ["spec.subsets[1].name: duplicate subset names: v"],
    ],
    [
      "an empty pool",
      { host: "a", trafficPolicy: { connectionPool: {} } },
      ["spec.trafficPolicy.connectionPool: connection pool must have at least one field"],
    ],
    [
      "UPGRADE with the client's protocol",
      {
        host: "a",
        trafficPolicy: { connectionPool: { http: { h2UpgradePolicy: "UPGRADE", useClientProtocol: true } } },
      },
      ["spec.trafficPolicy.connectionPool.http: use client protocol must not be true when H2UpgradePolicy is UPGRADE"],
    ],
    ["an idle timeout of zero", { host: "a", trafficPolicy: { connectionPool: { tcp: { idleTimeout: "0s" } } } }, []],
    [
      "mutual without files",
      { host: "a", trafficPolicy: { tls: { mode: "MUTUAL" } } },
      [
        "spec.trafficPolicy.tls: client certificate required for mutual tls",
        "spec.trafficPolicy.tls: private key required for mutual tls",
      ],
    ],
    [
      "a credential of another namespace",
      { host: "a", trafficPolicy: { tls: { mode: "SIMPLE", credentialName: "configmap://other/x" } } },
      [
        'spec.trafficPolicy.tls: invalid configmap:// credentialName: namespace must match the configuration namespace "n"',
      ],
    ],
    [
      "failover without outlier detection",
      { host: "a", trafficPolicy: { loadBalancer: { localityLbSetting: { failover: [{ from: "a", to: "b" }] } } } },
      [],
      ["spec.trafficPolicy.loadBalancer.localityLbSetting: outlier detection policy must be provided for failover"],
    ],
    [
      "a warning inside a subset is not told",
      { host: "a", subsets: [{ name: "v", trafficPolicy: { outlierDetection: { consecutiveErrors: 1 } } }] },
      [],
    ],
    [
      "localities that overlap",
      {
        host: "a",
        trafficPolicy: {
          loadBalancer: { localityLbSetting: { distribute: [{ from: "r/*", to: { "r/z1": 50, "r/z1/s": 50 } }] } },
        },
      },
      [
        "spec.trafficPolicy.loadBalancer.localityLbSetting.distribute[0].to: locality r/z1/s overlap with previous specified ones",
      ],
    ],
    [
      "exported with a selector",
      { host: "a", workloadSelector: { matchLabels: { a: "b" } }, exportTo: ["*"] },
      ["spec.exportTo: destination rule with workload selector cannot have exportTo beyond current namespace"],
    ],
    [
      "a port without one",
      { host: "a", trafficPolicy: { portLevelSettings: [{}] } },
      [
        "spec.trafficPolicy.portLevelSettings[0]: portTrafficPolicy must have valid port",
        "spec.trafficPolicy.portLevelSettings[0]: port traffic policy must have at least one field",
      ],
    ],
  ],
  Gateway: [
    ["no servers", {}, ["spec.servers: gateway must have at least one server"]],
    [
      "TLS on a TCP port",
      { servers: [{ port: { number: 1, name: "t", protocol: "TCP" }, hosts: ["*"], tls: { mode: "PASSTHROUGH" } }] },
      ["spec.servers[0].tls: server cannot have TLS settings for non HTTPS/TLS ports"],
    ],
    [
      "HTTPS without TLS",
      { servers: [{ port: { number: 1, name: "t", protocol: "HTTPS" }, hosts: ["*"] }] },
      ["spec.servers[0].tls: server must have TLS settings for HTTPS/TLS protocols"],
    ],
    [
      "ISTIO_MUTUAL with a credential",
      {
        servers: [
          {
            port: { number: 1, name: "t", protocol: "HTTPS" },
            hosts: ["*"],
            tls: { mode: "ISTIO_MUTUAL", credentialName: "c" },
          },
        ],
      },
      ["spec.servers[0].tls: ISTIO_MUTUAL TLS cannot have associated credentialName"],
    ],
    [
      "a unix socket with a port",
      { servers: [{ port: { number: 1, name: "t", protocol: "HTTP" }, bind: "unix:///a", hosts: ["*"] }] },
      ['spec.servers[0].bind: port number must be 0 for unix domain socket: number:1  protocol:"HTTP"  name:"t"'],
    ],
    [
      "a short name",
      { servers: [{ port: { number: 1, name: "t", protocol: "HTTP" }, hosts: ["a"] }] },
      ["spec.servers[0].hosts[0]: short names (non FQDN) are not allowed"],
    ],
    [
      "an unknown protocol",
      { servers: [{ port: { number: 1, name: "t", protocol: "SMTP" }, hosts: ["*"] }] },
      [
        'spec.servers[0].port: invalid protocol "SMTP", supported protocols are HTTP, HTTP2, GRPC, GRPC-WEB, MONGO, REDIS, MYSQL, TCP',
      ],
    ],
  ],
  ServiceEntry: [
    [
      "DNS with a wildcard",
      { hosts: ["*.a.com"], resolution: "DNS", ports: [{ number: 80, name: "h", protocol: "HTTP" }] },
      [
        'spec.hosts: hosts must be FQDN or contain only prefix wildcards if no endpoints are provided for resolution mode DNS, domain name "*.a.com" invalid (label "*" invalid)',
      ],
    ],
    [
      "many hosts on TCP",
      { hosts: ["a.com", "b.com"], resolution: "STATIC", ports: [{ number: 80, name: "t", protocol: "TCP" }] },
      ["spec: multiple hosts provided with non-HTTP, non-TLS ports"],
    ],
    [
      "a port that is not the service's",
      {
        hosts: ["a.com"],
        resolution: "STATIC",
        ports: [{ number: 80, name: "h", protocol: "HTTP" }],
        endpoints: [{ address: "1.1.1.1", ports: { x: 1 } }],
      },
      ["spec.endpoints[0].ports: endpoint port 1 is not defined by the service entry"],
    ],
    [
      "DYNAMIC_DNS for one host",
      { hosts: ["a.com"], resolution: "DYNAMIC_DNS", ports: [{ number: 80, name: "h", protocol: "HTTP" }] },
      ["spec.hosts[0]: host must be wildcarded for resolution mode DYNAMIC_DNS"],
    ],
    ["exported to nobody", { hosts: ["a.com"], exportTo: ["~"] }, []],
    [
      "exported to nobody and somebody",
      { hosts: ["a.com"], exportTo: ["~", "x"] },
      ["spec.exportTo: cannot export service entry to no one (~) and someone"],
    ],
  ],
  Sidecar: [
    ["nothing", {}, ["spec: sidecar: empty configuration provided"]],
    [
      "a host without a namespace",
      { egress: [{ hosts: ["a.com"] }] },
      ["spec.egress[0].hosts[0]: host must be of form namespace/dnsName"],
    ],
    ["an excluded host", { egress: [{ hosts: ["*/*", "~n/a.com"] }] }, []],
    [
      "all and one more",
      { egress: [{ hosts: ["*/*", "n/a.com"] }] },
      [],
      ["spec.egress[0].hosts: `*/*` host select all resources, no other hosts can be added"],
    ],
    [
      "the catch-all first",
      { egress: [{ hosts: ["./*"] }, { port: { number: 80, protocol: "HTTP", name: "h" }, hosts: ["./*"] }] },
      ["spec.egress[0]: sidecar: the egress listener with empty port should be the last listener in the list"],
    ],
    [
      "an endpoint elsewhere",
      { ingress: [{ port: { number: 80, protocol: "HTTP", name: "h" }, defaultEndpoint: "1.1.1.1:80" }] },
      [
        "spec.ingress[0].defaultEndpoint: sidecar: defaultEndpoint must be of form 127.0.0.1:<port>,0.0.0.0:<port>,[::1]:port,[::]:port,unix://filepath or unset",
      ],
    ],
    [
      "an endpoint of IPv6",
      { ingress: [{ port: { number: 80, protocol: "HTTP", name: "h" }, defaultEndpoint: "[::1]:80" }] },
      [],
    ],
    [
      "an egress proxy without ALLOW_ANY",
      { outboundTrafficPolicy: { mode: "REGISTRY_ONLY", egressProxy: { host: "a.b" } } },
      [
        "spec.outboundTrafficPolicy: sidecar: egress_proxy must be set only with ALLOW_ANY outbound_traffic_policy mode",
      ],
    ],
  ],
  PeerAuthentication: [
    [
      "ports for everybody",
      { portLevelMtls: { 80: { mode: "STRICT" } } },
      ["spec.portLevelMtls: mesh/namespace peer authentication cannot have port level mTLS"],
    ],
  ],
  AuthorizationPolicy: [
    [
      "a DENY of HTTP attributes only",
      { action: "DENY", rules: [{ to: [{ operation: { methods: ["GET"] } }] }] },
      [],
      [expect.stringMatching(/will deny all traffic to TCP ports/)],
    ],
    [
      "a DENY with a port",
      { action: "DENY", rules: [{ to: [{ operation: { methods: ["GET"], ports: ["80"] } }] }] },
      [],
    ],
    [
      "a provider without CUSTOM",
      { provider: { name: "p" } },
      ["spec: invalid policy a.n: `provider` must not be with non CUSTOM action, found ALLOW"],
    ],
    [
      "a bad port",
      { rules: [{ to: [{ operation: { ports: ["x"] } }] }] },
      [
        'spec.rules[0].to[0].operation.ports: invalid policy a.n: bad port (x): strconv.ParseUint: parsing "x": invalid syntax',
      ],
    ],
    [
      "braces in a path",
      { rules: [{ to: [{ operation: { paths: ["/a/{x}"] } }] }] },
      [
        "spec.rules[0].to[0].operation.paths: invalid policy a.n: invalid or unsupported path a/{x}, found in Paths. Contains '{' or '}' beyond a supported path template",
      ],
    ],
    [
      "two wildcards in a trust domain",
      { rules: [{ from: [{ source: { trustDomains: ["*a*"] } }] }] },
      [
        'spec.rules[0].from[0].source.trustDomains: invalid policy a.n: at most one wildcard is allowed, found in TrustDomains: "*a*"',
      ],
    ],
    [
      "an empty name",
      { rules: [{ from: [{ source: { principals: [""] } }] }] },
      ["spec.rules[0].from[0].source.principals: invalid policy a.n: empty value not allowed, found in Principals"],
    ],
  ],
  RequestAuthentication: [
    [
      "a private key",
      { jwtRules: [{ issuer: "i", jwks: '{"keys":[{"kty":"RSA","n":"a","e":"AQAB","d":"x"}]}' }] },
      [],
      [
        "spec.jwtRules[0].jwks: jwks key at index 0 contains private key material; only public keys are used for verification",
      ],
    ],
    [
      "an FTP address",
      { jwtRules: [{ issuer: "i", jwksUri: "ftp://x" }] },
      ['spec.jwtRules[0].jwksUri: URI scheme "ftp" is not supported'],
    ],
  ],
  Telemetry: [
    [
      "no CEL",
      { accessLogging: [{ filter: { expression: "a ==" } }] },
      [expect.stringMatching(/must be a valid CEL expression/)],
    ],
    [
      "sampling past all",
      { tracing: [{ randomSamplingPercentage: 101 }] },
      ["spec.tracing[0].randomSamplingPercentage: randomSamplingPercentage must be in range [0.0, 100.0]"],
    ],
  ],
  WasmPlugin: [
    ["an image", { url: "ghcr.io/a/b:c" }, []],
    [
      "upper case in the digest",
      { url: "oci://a/b", sha256: "A".repeat(64) },
      ["spec.sha256: sha256 field must match [a-f0-9]{64} pattern"],
    ],
  ],
  TrafficExtension: [["Lua without code", { lua: {} }, ["spec.lua: lua.inlineCode cannot be empty"]]],
  ProxyConfig: [
    ["less than no threads", { concurrency: -1 }, ["spec.concurrency: concurrency must be greater than or equal to 0"]],
  ],
  WorkloadEntry: [
    ["a bad name", { address: "a_b" }, ['spec.address: endpoint address "a_b" is not a valid FQDN or an IP address']],
  ],
  WorkloadGroup: [
    ["a probe of nothing", { template: {}, probe: {} }, ["spec.probe: unknown health check method <nil>"]],
  ],
  EnvoyFilter: [
    [
      "no patch",
      { configPatches: [{ applyTo: "CLUSTER" }] },
      ["spec.configPatches[0]: Envoy filter: missing patch"],
      [expect.stringMatching(/exposes internal/)],
    ],
    [
      "a route match for a filter",
      {
        configPatches: [{ applyTo: "HTTP_FILTER", match: { routeConfiguration: {} }, patch: { operation: "REMOVE" } }],
      },
      ["spec.configPatches[0].match: Envoy filter: applyTo for listener class objects cannot have non listener match"],
      [expect.anything()],
    ],
  ],
};

describe.each(Object.entries(cases))("%s", (kind, list) => {
  test.each(list)("%s", (_, spec, errors, warnings = []) => {
    expect(judge(kind, spec)).toEqual({ errors, warnings });
  });
});

test("annotations that only Istio may set, and the one that is always refused", () => {
  const refused = (annotations: object) => judge("VirtualService", vs({}), { annotations }).errors;
  expect(refused({ "internal.istio.io/webhook-always-reject": "true" })).toEqual([
    'metadata.annotations: "internal.istio.io/webhook-always-reject" annotation found, rejecting',
  ]);
  expect(refused({ "internal.istio.io/parents": "x" })).toHaveLength(1);
  expect(refused({ "istio.io/dry-run": "true" })).toEqual([
    "metadata.annotations: n/a has unsupported annotation istio.io/dry-run, please remove the annotation",
  ]);
  expect(judge("AuthorizationPolicy", {}, { annotations: { "istio.io/dry-run": "true" } }).errors).toEqual([]);
});

const many = <T>(count: number, item: (i: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, i) => item(i));

// Each pair told, or each told with the whole list, these would be millions of texts.
describe("of a VirtualService with very many", () => {
  test("equal hosts some are told", () => {
    const hosts = many(5000, () => "a.com");
    expect(judge("VirtualService", { hosts, http: [{ route: to("a") }] }).errors).toHaveLength(100);
  });

  test("SNI hosts that none of its hosts covers the first are told", () => {
    const tls = [{ match: [{ sniHosts: many(5000, (i) => `s${i}.b.com`) }], route: to("a") }];
    const { errors } = judge("VirtualService", { hosts: many(500, (i) => `h${i}.a.com`), tls });
    expect(errors).toHaveLength(200);
    expect(errors[0]).toContain('SNI host "s0.b.com" is not a compatible subset');
  });

  test("prefixes the first are compared", () => {
    const match = many(2500, (i) => ({ uri: { prefix: i === 10 || i === 2400 ? `/0/${i}` : `/${i}/` } }));
    const { warnings } = judge("VirtualService", vs({ match }));
    expect(warnings.join()).toContain("/0/10");
    expect(warnings.join()).not.toContain("/0/2400");
  });
});
