/** The policies of the suite: what a workload is put under, as users would write it. */

export type Spec = Readonly<Record<string, unknown>>;

export interface Scenario {
  readonly name: string;
  /** Specs of AuthorizationPolicies; `PORT` in a list of ports stands for the workload's own. */
  readonly policies: readonly Spec[];
  /** Whether tokens are looked at. */
  readonly tokens?: "one issuer" | "two issuers";
  readonly normalization?: "NONE" | "BASE" | "MERGE_SLASHES" | "DECODE_AND_MERGE_SLASHES";
  /** The port's protocol is declared, or found out by looking at the traffic. */
  readonly port?: "declared" | "sniffed";
  readonly trustDomainAliases?: readonly string[];
  /** Of a PeerAuthentication; none where absent. */
  readonly mtls?: "STRICT" | "PERMISSIVE" | "DISABLE";
}

const allow = (...rules: readonly Spec[]): Spec => ({ action: "ALLOW", rules });
const deny = (...rules: readonly Spec[]): Spec => ({ action: "DENY", rules });
const custom = (...rules: readonly Spec[]): Spec => ({ action: "CUSTOM", provider: { name: "gate" }, rules });
const from = (source: Spec): Spec => ({ from: [{ source }] });
const to = (operation: Spec): Spec => ({ to: [{ operation }] });
const when = (key: string, values: readonly string[]): Spec => ({ when: [{ key, values }] });
const whenNot = (key: string, notValues: readonly string[]): Spec => ({ when: [{ key, notValues }] });

const paths = ["/admin", "/admin/*", "*/info", "/items/{*}", "/items/{*}/info", "/files/{**}", "/public/{**}/info"];

export const scenarios: readonly Scenario[] = [
  { name: "nothing said", policies: [] },
  { name: "allow nothing", policies: [{}] },
  { name: "allow all", policies: [allow({})] },
  { name: "deny all", policies: [deny({})] },
  { name: "deny nothing", policies: [{ action: "DENY" }] },
  ...paths.flatMap((path): readonly Scenario[] => [
    { name: `deny path ${path}`, policies: [deny(to({ paths: [path] }))] },
    { name: `allow path ${path}`, policies: [allow(to({ paths: [path] }))] },
  ]),
  ...(["NONE", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"] as const).map(
    (normalization): Scenario => ({
      name: `deny paths, ${normalization}`,
      policies: [deny(to({ paths: ["/admin", "/admin/*", "/items/secret"] }))],
      normalization,
    }),
  ),
  { name: "deny all but paths", policies: [deny(to({ notPaths: ["/public/*", "/files/{*}"] }))] },
  { name: "allow methods", policies: [allow(to({ methods: ["GET", "P*"] }))] },
  { name: "deny but methods", policies: [deny(to({ notMethods: ["GET", "HEAD"] }))] },
  { name: "deny host", policies: [deny(to({ hosts: ["shop.example.com"] }))] },
  { name: "allow hosts", policies: [allow(to({ hosts: ["*.example.com", "other.*"] }))] },
  { name: "allow but hosts", policies: [allow(to({ notHosts: ["api.example.com", "*.test"] }))] },
  { name: "deny own port", policies: [deny(to({ ports: ["PORT"], methods: ["GET"] }))] },
  { name: "allow other port", policies: [allow(to({ ports: ["1"] }))] },
  { name: "allow principal", policies: [allow(from({ principals: ["cluster.local/ns/shop/sa/web"] }))] },
  { name: "deny principal prefix", policies: [deny(from({ principals: ["cluster.local/ns/shop/*"] }))] },
  { name: "deny principal suffix", policies: [deny(from({ principals: ["*/sa/web"] }))] },
  { name: "allow any principal", policies: [allow(from({ principals: ["*"] }))] },
  { name: "deny without principal", policies: [deny(from({ notPrincipals: ["*"] }))] },
  { name: "allow namespaces", policies: [allow(from({ namespaces: ["shop"] }))] },
  { name: "deny namespace wildcard", policies: [deny(from({ namespaces: ["shop*"] }))] },
  { name: "allow but namespaces", policies: [allow(from({ notNamespaces: ["tools"] }))] },
  { name: "allow accounts", policies: [allow(from({ serviceAccounts: ["tools/batch.job", "app"] }))] },
  { name: "allow trust domains", policies: [allow(from({ trustDomains: ["cluster.local"] }))] },
  { name: "deny trust domains", policies: [deny(from({ trustDomains: ["evil*", "*.example"] }))] },
  {
    name: "aliases",
    policies: [allow(from({ principals: ["cluster.local/ns/shop/sa/web"] }))],
    trustDomainAliases: ["old.example"],
  },
  { name: "allow addresses", policies: [allow(from({ ipBlocks: ["127.0.0.0/24"] }))] },
  { name: "deny addresses", policies: [deny(from({ notIpBlocks: ["127.0.0.1"] }))] },
  { name: "deny remote addresses", policies: [deny(from({ remoteIpBlocks: ["203.0.113.0/24"] }))] },
  { name: "deny header", policies: [deny(when("request.headers[x-role]", ["admin"]))] },
  { name: "allow header prefix", policies: [allow(when("request.headers[X-Role]", ["admin*"]))] },
  { name: "deny without header", policies: [deny(whenNot("request.headers[x-role]", ["*"]))] },
  { name: "needs a token", policies: [deny(from({ notRequestPrincipals: ["*"] }))], tokens: "one issuer" },
  {
    name: "allow subjects",
    policies: [allow(from({ requestPrincipals: ["https://issuer.example/alice", "*/bob"] }))],
    tokens: "one issuer",
  },
  {
    name: "allow issuer, two of them",
    policies: [allow(from({ requestPrincipals: ["https://second.example/*"] }))],
    tokens: "two issuers",
  },
  { name: "claims", policies: [allow(when("request.auth.claims[groups]", ["dev*"]))], tokens: "one issuer" },
  { name: "nested claims", policies: [deny(when("request.auth.claims[org][name]", ["acme"]))], tokens: "one issuer" },
  { name: "scopes", policies: [allow(when("request.auth.claims[scope]", ["write"]))], tokens: "one issuer" },
  { name: "audiences", policies: [allow(when("request.auth.audiences", ["orders"]))], tokens: "one issuer" },
  { name: "presenter", policies: [deny(when("request.auth.presenter", ["app-*"]))], tokens: "one issuer" },
  { name: "tokens without policies", policies: [], tokens: "two issuers" },
  {
    name: "deny goes before allow",
    policies: [
      allow(to({ paths: ["/public/*", "/items/*"] })),
      deny(from({ namespaces: ["tools"] }), to({ methods: ["DELETE"] })),
    ],
  },
  { name: "external", policies: [custom(to({ paths: ["/admin*"] })), deny(to({ methods: ["DELETE"] }))] },
  { name: "no such provider", policies: [{ ...custom(to({ paths: ["/admin*"] })), provider: { name: "none" } }] },
  {
    name: "dry run",
    policies: [{ ...deny({}), dryRun: true }, allow(to({ methods: ["GET"] }))],
  },
  { name: "audit", policies: [{ action: "AUDIT", rules: [{}] }] },
  {
    name: "all at once",
    policies: [
      allow({
        from: [
          { source: { namespaces: ["shop"], ipBlocks: ["127.0.0.1"] } },
          { source: { requestPrincipals: ["*"], notPrincipals: ["*/sa/web-admin"] } },
        ],
        to: [{ operation: { methods: ["GET"], notPaths: ["/admin*"] } }, { operation: { paths: ["*/info"] } }],
        when: [{ key: "request.headers[x-tenant]", notValues: ["acme"] }],
      }),
    ],
    tokens: "one issuer",
  },
  { name: "sniffed: deny path", policies: [deny(to({ paths: ["/admin", "/admin/*"] }))], port: "sniffed" },
  {
    name: "sniffed: allow principal and token",
    policies: [allow(from({ principals: ["*/sa/web"], requestPrincipals: ["*"] }))],
    port: "sniffed",
    tokens: "one issuer",
  },
  { name: "sniffed: allow methods", policies: [allow(to({ methods: ["GET"] }))], port: "sniffed" },
];
