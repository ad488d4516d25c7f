/**
 * A request and the policies that it meets in; the verdict out, by the documented meaning of the policies alone. It is
 * written apart from the renderer, on purpose, and knows nothing of Envoy but how a path is brought into its plain form.
 */
import type { PolicyRequest, TokenKind } from "./request.ts";
import type { Scenario, Spec } from "./scenario.ts";

/** `refused`: no connection at all; `malformed`: not looked at. */
export type Verdict = "passed" | "forbidden" | "unauthenticated" | "refused" | "malformed";

export interface Claims {
  readonly iss: string;
  readonly sub: string;
  readonly aud: readonly string[];
  readonly azp: string;
  readonly groups: readonly string[];
  readonly scope: string;
  readonly org: { readonly name: string };
}

export const claimsOf: Readonly<Partial<Record<TokenKind, Claims>>> = {
  alice: {
    iss: "https://issuer.example",
    sub: "alice",
    aud: ["orders", "web"],
    azp: "app-1",
    groups: ["dev", "ops"],
    scope: "read write",
    org: { name: "acme" },
  },
  bob: {
    iss: "https://issuer.example",
    sub: "bob",
    aud: ["web"],
    azp: "tool",
    groups: ["sales"],
    scope: "read",
    org: { name: "other" },
  },
  "second-issuer": {
    iss: "https://second.example",
    sub: "carol",
    aud: ["web"],
    azp: "app-2",
    groups: ["developers"],
    scope: "write",
    org: { name: "acme" },
  },
};

/** What a policy sees. */
interface Subject {
  readonly request: PolicyRequest;
  readonly path: string;
  readonly claims: Claims | undefined;
  readonly port: string;
  readonly namesOfMesh: readonly string[];
}

export function judge(scenario: Scenario, request: PolicyRequest, port: number, seenPath?: string): Verdict {
  const path = seenPath ?? plainPath(request.target, scenario.normalization ?? "BASE");
  const subject = {
    request,
    path,
    port: String(port),
    claims: undefined,
    namesOfMesh: ["cluster.local", ...(scenario.trustDomainAliases ?? [])],
  };
  // Who is not of the mesh gets no connection; a path that ends in a NUL means two things to two readers.
  if (request.peer && !subject.namesOfMesh.includes(request.peer.trustDomain)) return "refused";
  if (seenPath === undefined && path.includes("%00") && scenario.normalization !== "NONE") return "malformed";
  // Where the protocol is found out, what is no request is a stream of bytes, which these policies do not let in.
  if (!request.target.startsWith("/")) return scenario.port === "sniffed" && !request.peer ? "refused" : "malformed";
  const enforced = scenario.policies.filter((policy) => policy.dryRun !== true);
  const of = (action: string): readonly Spec[] => enforced.filter((policy) => (policy.action ?? "ALLOW") === action);
  // External authorisation comes first, before tokens are read.
  for (const policy of of("CUSTOM"))
    if (matchesAny(policy, subject) && !externalAllows(policy, request)) return "forbidden";
  const authenticated = tokenVerdict(scenario, request.token);
  if (authenticated === "refused") return request.token === "wrong-audience" ? "forbidden" : "unauthenticated";
  const known = { ...subject, claims: authenticated };
  if (of("DENY").some((policy) => matchesAny(policy, known))) return "forbidden";
  const allowing = of("ALLOW");
  return allowing.length === 0 || allowing.some((policy) => matchesAny(policy, known)) ? "passed" : "forbidden";
}

function externalAllows(policy: Spec, request: PolicyRequest): boolean {
  const provider = policy.provider as { readonly name: string };
  return provider.name === "gate" && request.headers.some(([name, value]) => name === "x-pass" && value === "yes");
}

/** A missing token is no mistake; a bad one is, and so is one that was made for somebody else. */
function tokenVerdict(scenario: Scenario, token: TokenKind): Claims | undefined | "refused" {
  if (!scenario.tokens || token === "none" || token === "empty") return undefined;
  const claims = claimsOf[token];
  if (!claims) return "refused";
  return claims.iss === "https://second.example" && scenario.tokens === "one issuer" ? "refused" : claims;
}

const list = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const specs = (value: unknown): readonly Spec[] => (Array.isArray(value) ? (value as Spec[]) : []);

const matchesAny = (policy: Spec, subject: Subject): boolean =>
  specs(policy.rules).some((rule) => matchesRule(rule, subject));

function matchesRule(rule: Spec, subject: Subject): boolean {
  const sources = specs(rule.from).map((one) => one.source as Spec);
  const operations = specs(rule.to).map((one) => one.operation as Spec);
  return (
    (sources.length === 0 || sources.some((source) => matchesSource(source, subject))) &&
    (operations.length === 0 || operations.some((operation) => matchesOperation(operation, subject))) &&
    specs(rule.when).every((one) => matchesWhen(one, subject))
  );
}

/** One of the values, where there are any; and none of those that must not be. */
function fits(spec: Spec, field: string, test: (value: string) => boolean): boolean {
  const [wanted, unwanted] = [list(spec[field]), list(spec[`not${field[0]?.toUpperCase()}${field.slice(1)}`])];
  return (wanted.length === 0 || wanted.some(test)) && !unwanted.some(test);
}

/** Exact, prefix (`a*`), suffix (`*a`), or there at all (`*`). */
function fitsText(pattern: string, text: string | undefined): boolean {
  if (text === undefined) return false;
  if (pattern === "*") return text !== "";
  if (pattern.startsWith("*")) return text.endsWith(pattern.slice(1));
  if (pattern.endsWith("*")) return text.startsWith(pattern.slice(0, -1));
  return text === pattern;
}

function matchesSource(source: Spec, { request, claims, namesOfMesh }: Subject): boolean {
  const { peer } = request;
  const principal = peer && `${peer.trustDomain}/ns/${peer.namespace}/sa/${peer.account}`;
  // Another name of the mesh is the mesh: `cluster.local` in a policy is all of them.
  const names = peer && namesOfMesh.includes(peer.trustDomain) ? namesOfMesh : peer ? [peer.trustDomain] : [];
  const principals = names.map((name) => `${name}/ns/${peer?.namespace}/sa/${peer?.account}`);
  return (
    fits(source, "principals", (value) => [principal, ...principals].some((name) => fitsText(value, name))) &&
    fits(source, "namespaces", (value) => fitsText(value, peer?.namespace)) &&
    fits(source, "serviceAccounts", (value) => {
      const [first = "", second] = value.split("/");
      const [namespace, account] = second === undefined ? ["default", first] : [first, second];
      return peer?.namespace === namespace && peer.account === account;
    }) &&
    fits(source, "trustDomains", (value) => names.some((name) => fitsText(value, name))) &&
    fits(source, "requestPrincipals", (value) => fitsRequestPrincipal(value, claims)) &&
    fits(source, "ipBlocks", (value) => inRange(value, request.source)) &&
    fits(source, "remoteIpBlocks", (value) => inRange(value, remoteOf(request)))
  );
}

/** `ISSUER/SUBJECT`: both parts must be there. */
function fitsRequestPrincipal(value: string, claims: Claims | undefined): boolean {
  return claims !== undefined && fitsText(value, `${claims.iss}/${claims.sub}`);
}

/** The last proxy before the workload says who came to it. */
const remoteOf = ({ forwardedFor, source }: PolicyRequest): string => forwardedFor?.split(/, */).at(-1) ?? source;

function inRange(range: string, address: string): boolean {
  const [base = "", bits = "32"] = range.split("/");
  const number = (ip: string): number => ip.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(bits));
  return Math.floor(number(base) / size) === Math.floor(number(address) / size);
}

function matchesOperation(operation: Spec, { request, path, port }: Subject): boolean {
  return (
    fits(operation, "methods", (value) => fitsText(value, request.method)) &&
    fits(operation, "hosts", (value) => fitsText(value.toLowerCase(), request.host.toLowerCase())) &&
    fits(operation, "ports", (value) => value === "PORT" || value === port) &&
    fits(operation, "paths", (value) => fitsPath(value, path))
  );
}

function fitsPath(pattern: string, path: string): boolean {
  if (!pattern.includes("{")) return fitsText(pattern, path);
  // Any number of segments for `{**}`, exactly one for `{*}`; the slashes beside them are their own.
  const words: Readonly<Record<string, string>> = { "{**}": ".*", "{*}": "[^/]+" };
  const source = pattern
    .split(/(\{\*{1,2}\})/)
    .map((part) => words[part] ?? part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${source.join("")}$`).test(path);
}

function matchesWhen({ key, values, notValues }: Spec, { request, claims }: Subject): boolean {
  const found = attribute(String(key), request, claims);
  // A header is there also when it is empty.
  if (String(key).startsWith("request.headers") && found.includes("") && list(values ?? notValues).includes("*"))
    return values !== undefined;
  return fits({ values, notValues }, "values", (value) => found.some((text) => fitsText(value, text)));
}

function attribute(key: string, { headers }: PolicyRequest, claims: Claims | undefined): readonly string[] {
  const header = /^request\.headers\[(.+)\]$/.exec(key)?.[1]?.toLowerCase();
  if (header !== undefined) return headers.filter(([name]) => name.toLowerCase() === header).map(([, value]) => value);
  if (!claims) return [];
  if (key === "request.auth.audiences") return claims.aud;
  if (key === "request.auth.presenter") return [claims.azp];
  const path = [...key.matchAll(/\[([^\]]+)\]/g)].map(([, name]) => name ?? "");
  const value = path.reduce<unknown>((at, name) => (at as Readonly<Record<string, unknown>>)[name], claims);
  // Scopes are a list, written in one text.
  return Array.isArray(value) ? value : path[0] === "scope" ? String(value).split(" ") : [String(value)];
}

/** The path that policies are compared with, by the mesh's mode of normalisation. */
function plainPath(target: string, mode: NonNullable<Scenario["normalization"]>): string {
  const raw = target.replace(/#.*$/, "").replace(/\?.*$/, "");
  if (mode === "NONE") return raw;
  const decoded = mode === "DECODE_AND_MERGE_SLASHES" ? raw.replace(/%2f/gi, "/").replace(/%5c/gi, "\\") : raw;
  const plain = removeDots(unescapeUnreserved(decoded.replaceAll("\\", "/")));
  return mode === "BASE" ? plain : plain.replace(/\/{2,}/g, "/");
}

/** RFC 3986, 6.2.2.2. */
function unescapeUnreserved(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (escaped, hex) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[\w.~-]/.test(character) ? character : escaped;
  });
}

/** RFC 3986, 5.2.4. */
function removeDots(path: string): string {
  const kept: string[] = [];
  const parts = path.split("/").slice(1);
  for (const [index, part] of parts.entries()) {
    const last = index === parts.length - 1;
    // Some servers cut parameters (`;x`) off a segment before they look for dots, so they count as dots here.
    const dots = part.replace(/;.*$/, "");
    if (dots === "..") kept.pop();
    if (dots !== ".." && dots !== ".") kept.push(part);
    else if (last) kept.push("");
  }
  return `/${kept.join("/")}`;
}
