/** One request of the suite: everything about it that a policy may look at, and how it is made from a seed. */
import type { Random } from "../random.ts";

/** Whom the client proves to be with its certificate; undefined for plaintext. */
export interface Peer {
  readonly trustDomain: string;
  readonly namespace: string;
  readonly account: string;
}

export const tokenKinds = [
  "none",
  "alice",
  "bob",
  "second-issuer",
  "expired",
  "not-yet",
  "wrong-issuer",
  "wrong-key",
  "wrong-audience",
  "unsigned",
  "malformed",
  "two-parts",
  "empty",
] as const;
export type TokenKind = (typeof tokenKinds)[number];

export interface PolicyRequest {
  readonly method: string;
  /** As it stands in the request line. */
  readonly target: string;
  readonly host: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly token: TokenKind;
  readonly peer: Peer | undefined;
  /** Loopback address that the client connects from. */
  readonly source: string;
  readonly forwardedFor: string | undefined;
}

export const plainRequest = (change: Partial<PolicyRequest> = {}): PolicyRequest => ({
  method: "GET",
  target: "/",
  host: "a",
  headers: [],
  token: "none",
  peer: undefined,
  source: "127.0.0.1",
  forwardedFor: undefined,
  ...change,
});

export const peers: readonly Peer[] = [
  { trustDomain: "cluster.local", namespace: "shop", account: "web" },
  { trustDomain: "cluster.local", namespace: "shop", account: "web-admin" },
  { trustDomain: "cluster.local", namespace: "shop-staging", account: "web" },
  { trustDomain: "cluster.local", namespace: "tools", account: "batch.job" },
  { trustDomain: "cluster.local", namespace: "tools", account: "batchxjob" },
  { trustDomain: "old.example", namespace: "shop", account: "web" },
  { trustDomain: "evil.example", namespace: "shop", account: "web" },
];

export const sources = ["127.0.0.1", "127.0.0.2", "127.0.9.9"] as const;

const segments = ["admin", "public", "items", "42", "info", "secret", "Admin", "a.b", "files"];

/** Forms of a path that mean the same to some servers and not to others. */
const disguises: readonly ((path: string, random: Random) => string)[] = [
  (path) => path,
  (path) => path,
  (path) => path,
  (path) => path.replace("/", "//"),
  (path) => path.replace(/\/(?=[^/]*$)/, "//"),
  (path) => path.replace(/\/(?=[^/]*$)/, "/./"),
  (path) => `/x/..${path}`,
  (path) => `/x/%2e%2e${path}`,
  (path) => `/x/%2E.${path}`,
  (path) => path.replace(/\/(?=[^/]*$)/, "%2F"),
  (path) => path.replace(/\/(?=[^/]*$)/, "%2f"),
  (path) => path.replace(/\/(?=[^/]*$)/, "\\"),
  (path) => path.replace(/\/(?=[^/]*$)/, "%5C"),
  (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`),
  (path) => path.toUpperCase(),
  (path) => `${path}/`,
  (path) => `${path}?q=/public/info`,
  (path) => `${path}?`,
  (path) => `${path}#frag`,
  (path) => `${path}#/public/info`,
  (path) => `${path}%23x`,
  (path) => `${path};x=1`,
  (path) => `${path}%00`,
  (path) => `${path}/..`,
  (path) => `${path}/../..`,
  (path, random) => `/${random.pick(segments)}/..;${path}`,
];

const hosts = [
  "shop.example.com",
  "SHOP.example.com",
  "shop.example.com:80",
  "api.example.com",
  "other.test",
  "example.com",
];

function randomPath(random: Random): string {
  const depth = 1 + random.whole(3);
  return `/${Array.from({ length: depth }, () => random.pick(segments)).join("/")}`;
}

const headerSets: readonly PolicyRequest["headers"][] = [
  [],
  [],
  [["x-role", "admin"]],
  [["X-Role", "admin"]],
  [["x-role", "guest"]],
  [["x-role", "administrator"]],
  [["x-role", ""]],
  // Repeated: whichever one the application takes, the policy must have seen.
  [
    ["x-role", "guest"],
    ["x-role", "admin"],
  ],
  [
    ["x-role", ""],
    ["X-ROLE", "admin"],
  ],
  [["x-tenant", "acme"]],
  [["x-pass", "yes"]],
  [
    ["x-role", "guest"],
    ["x-tenant", "acme-eu"],
  ],
];

export function randomRequest(random: Random): PolicyRequest {
  return {
    method: random.pick(["GET", "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"]),
    target: random.pick(disguises)(randomPath(random), random),
    host: random.pick(hosts),
    headers: random.pick(headerSets),
    token: random.chance(0.4) ? "none" : random.pick(tokenKinds),
    peer: random.chance(0.4) ? undefined : random.pick(peers),
    source: random.pick(sources),
    forwardedFor: random.chance(0.5)
      ? undefined
      : random.pick(["203.0.113.7", "198.51.100.1, 203.0.113.7", "10.0.0.9"]),
  };
}
