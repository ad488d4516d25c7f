/** Envoy's RBAC rules and what is known of a request or connection in; the policy that decides, and why others do not, out. */
import {
  type Permission,
  type Policy,
  type Principal,
  type RBAC,
  RBAC_Action,
} from "../gen/envoy/config/rbac/v3/rbac_pb.js";
import { inRange, showRange } from "./match/address.ts";
import { matchesHeader, showHeader } from "./match/header.ts";
import { type Metadata, matchesMetadata, showMetadata } from "./match/metadata.ts";
import { matchesTemplate, plainPath, templateOf } from "./match/path.ts";
import { matchesText, showText } from "./match/text.ts";
import type { Address, HttpRequest } from "./request.ts";

/** What policies look at; without a request for what is not HTTP. */
export interface Subject {
  readonly request: HttpRequest | undefined;
  readonly destination: Address;
  /** Of the connection itself. */
  readonly source: string;
  /** As X-Forwarded-For or the PROXY protocol tells it. */
  readonly remote: string;
  readonly peer: string | undefined;
  readonly tls: boolean;
  readonly sni: string;
  readonly metadata: Metadata;
}

/** A condition, of the request or of the caller, as one tree. */
type Node =
  | { readonly kind: "and" | "or"; readonly nodes: readonly Node[] }
  | { readonly kind: "not"; readonly node: Node }
  | { readonly kind: "leaf"; readonly holds: boolean; readonly show: string; readonly field: string };

export interface PolicyMatch {
  readonly name: string;
  /** Below the rule: `to[0].operation.paths[1]`. */
  readonly fields: readonly string[];
}

export interface RbacVerdict {
  readonly allowed: boolean;
  /** The policy that matched. */
  readonly matched: PolicyMatch | undefined;
  /** Why the others did not, in their order. */
  readonly lost: readonly { readonly name: string; readonly why: string }[];
}

/** The first by name counts: that is Envoy's order. */
export function evaluateRbac(rules: RBAC, subject: Subject): RbacVerdict {
  const lost: { readonly name: string; readonly why: string }[] = [];
  for (const name of Object.keys(rules.policies).sort((a, b) => (a < b ? -1 : 1))) {
    const policy = rules.policies[name];
    const why = policy && mismatch(policy, subject);
    if (policy && why === undefined)
      return { allowed: rules.action !== RBAC_Action.DENY, matched: { name, fields: deciding(policy, subject) }, lost };
    lost.push({ name, why: why ?? "" });
  }
  return { allowed: rules.action !== RBAC_Action.ALLOW, matched: undefined, lost };
}

function mismatch(
  { permissions, principals, condition, checkedCondition }: Policy,
  subject: Subject,
): string | undefined {
  if (condition || checkedCondition) return "has a CEL condition, which is not evaluated";
  const to = permissions.map((one) => permissionNode(one, subject));
  if (!to.some(holds)) return failing(to);
  const from = principals.map((one) => principalNode(one, subject));
  return from.some(holds) ? undefined : failing(from);
}

function holds(node: Node): boolean {
  if (node.kind === "leaf") return node.holds;
  if (node.kind === "not") return !holds(node.node);
  return node.kind === "and" ? node.nodes.every(holds) : node.nodes.some(holds);
}

/** The first condition that is not met, of the first alternative. */
function failing(nodes: readonly Node[]): string {
  const [first] = nodes;
  if (!first) return "it has no condition that could hold";
  if (first.kind === "and") return failing(first.nodes.filter((node) => !holds(node)));
  if (first.kind === "or")
    return `${leaves(first)
      .slice(0, 4)
      .map(({ show }) => show)
      .join(" or ")} does not hold`;
  if (first.kind === "leaf") return `${first.show} does not hold`;
  return `${leaves(first)
    .map(({ show }) => show)
    .join(" or ")} is excluded`;
}

type Leaf = Extract<Node, { kind: "leaf" }>;

function leaves(node: Node): readonly Leaf[] {
  if (node.kind === "leaf") return [node];
  return node.kind === "not" ? leaves(node.node) : node.nodes.flatMap(leaves);
}

/** Paths of the fields that made the policy match, without those that exclude. */
function deciding({ permissions, principals }: Policy, subject: Subject): readonly string[] {
  const to = permissions.map((one) => permissionNode(one, subject));
  const from = principals.map((one) => principalNode(one, subject));
  return [...decidingOf("to", to), ...decidingOf("from", from)];
}

function decidingOf(word: string, nodes: readonly Node[]): readonly string[] {
  const index = nodes.findIndex(holds);
  const node = nodes[index];
  const conditions = node?.kind === "and" ? node.nodes : node ? [node] : [];
  return conditions.flatMap((condition) => {
    const alternatives = condition.kind === "or" ? condition.nodes : [condition];
    const at = alternatives.findIndex(holds);
    const leaf = alternatives[at];
    if (leaf?.kind !== "leaf" || leaf.field === "") return [];
    return [leaf.field.startsWith("when") ? leaf.field : `${word}[${index}].${leaf.field}[${at}]`];
  });
}

const leaf = (holdsNow: boolean, show: string, field = ""): Node => ({ kind: "leaf", holds: holdsNow, show, field });

const headerFields: ReadonlyMap<string, string> = new Map([
  [":authority", "operation.hosts"],
  ["host", "operation.hosts"],
  [":method", "operation.methods"],
]);

function permissionNode({ rule }: Permission, subject: Subject): Node {
  const { request, destination } = subject;
  switch (rule.case) {
    case "andRules":
    case "orRules":
      return {
        kind: rule.case === "andRules" ? "and" : "or",
        nodes: rule.value.rules.map((one) => permissionNode(one, subject)),
      };
    case "notRule":
      return { kind: "not", node: permissionNode(rule.value, subject) };
    case "any":
      return leaf(rule.value, "any");
    case "header":
      return leaf(
        request !== undefined && matchesHeader(rule.value, request),
        showHeader(rule.value),
        headerFields.get(rule.value.name.toLowerCase()) ?? "",
      );
    case "urlPath": {
      const wanted = rule.value.rule.case === "path" ? rule.value.rule.value : undefined;
      const fits = request !== undefined && wanted !== undefined && matchesText(wanted, plainPath(request.path));
      return leaf(fits, `path ${wanted ? showText(wanted) : "?"}`, "operation.paths");
    }
    case "uriTemplate": {
      const template = templateOf(rule.value) ?? "";
      return leaf(
        request !== undefined && matchesTemplate(template, plainPath(request.path)),
        `path ${template}`,
        "operation.paths",
      );
    }
    case "destinationPort":
      return leaf(destination.port === rule.value, `port ${rule.value}`, "operation.ports");
    case "destinationPortRange":
      return leaf(
        destination.port >= rule.value.start && destination.port < rule.value.end,
        `port from ${rule.value.start} to ${rule.value.end}`,
      );
    case "destinationIp":
      return leaf(inRange(rule.value, destination.ip), `destination ${showRange(rule.value)}`, "when.destination.ip");
    case "requestedServerName":
      return leaf(matchesText(rule.value, subject.sni), `server name ${showText(rule.value)}`, "when.connection.sni");
    case "metadata":
      return leaf(matchesMetadata(rule.value, subject.metadata), showMetadata(rule.value));
    default:
      return leaf(false, "a condition that is not evaluated");
  }
}

function principalNode({ identifier }: Principal, subject: Subject): Node {
  const { request } = subject;
  switch (identifier.case) {
    case "andIds":
    case "orIds":
      return {
        kind: identifier.case === "andIds" ? "and" : "or",
        nodes: identifier.value.ids.map((one) => principalNode(one, subject)),
      };
    case "notId":
      return { kind: "not", node: principalNode(identifier.value, subject) };
    case "any":
      return leaf(identifier.value, "any");
    case "authenticated":
      return authenticatedNode(identifier.value.principalName, subject);
    case "sourceIp":
    case "directRemoteIp":
      return leaf(
        inRange(identifier.value, subject.source),
        `source ${showRange(identifier.value)}`,
        "source.ipBlocks",
      );
    case "remoteIp":
      return leaf(
        inRange(identifier.value, subject.remote),
        `remote ${showRange(identifier.value)}`,
        "source.remoteIpBlocks",
      );
    case "header":
      return leaf(
        request !== undefined && matchesHeader(identifier.value, request),
        showHeader(identifier.value),
        `when.request.headers[${identifier.value.name}]`,
      );
    case "urlPath": {
      const wanted = identifier.value.rule.case === "path" ? identifier.value.rule.value : undefined;
      return leaf(
        request !== undefined && wanted !== undefined && matchesText(wanted, plainPath(request.path)),
        `path ${wanted ? showText(wanted) : "?"}`,
      );
    }
    case "metadata":
      return leaf(matchesMetadata(identifier.value, subject.metadata), `token ${showMetadata(identifier.value)}`);
    default:
      return leaf(false, "a condition that is not evaluated");
  }
}

type PrincipalName = Extract<Principal["identifier"], { case: "authenticated" }>["value"]["principalName"];

/** A peer without certificate is nobody. */
function authenticatedNode(wanted: PrincipalName, { peer, tls }: Subject): Node {
  if (!wanted) return leaf(tls, "TLS");
  const shown = showText(wanted);
  const field =
    /\/ns\/.*\/sa\//.test(shown) && shown.startsWith("regex spiffe://.+")
      ? "source.serviceAccounts"
      : /^regex \.\*\/ns\//.test(shown)
        ? "source.namespaces"
        : /^prefix spiffe:\/\/[^/]*\/?$/.test(shown)
          ? "source.trustDomains"
          : "source.principals";
  // The text of a certificate without URI is its subject, which the mesh does not use.
  return leaf(tls && matchesText(wanted, peer ?? ""), `caller ${shown}`, field);
}

/** The AuthorizationPolicy and rule that a policy's name tells of. */
export function policyOrigin(name: string): { readonly object: string; readonly rule: number } | undefined {
  const [, namespace, policy, rule] = /ns\[(.*)\]-policy\[(.*)\]-rule\[(\d+)\]/.exec(name) ?? [];
  if (namespace === undefined || policy === undefined) return undefined;
  return { object: `AuthorizationPolicy/${namespace}/${policy}`, rule: Number(rule) };
}
