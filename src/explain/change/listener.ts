/**
 * A listener before and after in; what is different about who may connect, how, and what is done with requests, in words,
 * out. A listener is taken as a set of facts: what stands in many filter chains is told once.
 */
import { toBinary } from "@bufbuild/protobuf";
import type { Any } from "@bufbuild/protobuf/wkt";
import type { FilterChain } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { type Listener, ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { PolicySchema, type RBAC, RBAC_Action } from "../../gen/envoy/config/rbac/v3/rbac_pb.js";
import { JwtAuthenticationSchema } from "../../gen/envoy/extensions/filters/http/jwt_authn/v3/config_pb.js";
import { RBACSchema as HttpRbacSchema } from "../../gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js";
import { HttpConnectionManagerSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { RBACSchema as TcpRbacSchema } from "../../gen/envoy/extensions/filters/network/rbac/v3/rbac_pb.js";
import { DownstreamTlsContextSchema } from "../../gen/envoy/extensions/transport_sockets/tls/v3/tls_pb.js";
import { policyOrigin } from "../rbac.ts";
import { typeNameOf, unpack } from "../unpack.ts";
import type { Change, Pair, Risk } from "./change.ts";
import { decoded } from "./decoded.ts";
import { fieldDifferences } from "./field-differences.ts";

/** Something that holds for the listener, with its content for comparison. */
interface Fact {
  readonly content: string;
  readonly risks: Risks;
}

/** Of its coming, of its going, and of its change. */
interface Risks {
  readonly new?: Risk;
  readonly gone?: Risk;
  readonly changed?: Risk;
}

type Facts = ReadonlyMap<string, Fact>;

export function listenerChanges({ before, after }: Pair): readonly Change[] {
  const [old, now] = [decoded(ListenerSchema, before), decoded(ListenerSchema, after)];
  const name = now?.name ?? old?.name ?? "";
  const subject = "";
  const where = name === "virtualInbound" ? "on the way in" : `listener ${name}`;
  if (!old) return [{ subject, text: `${where} is new` }];
  if (!now) return [{ subject, text: `${where} is gone` }];
  const texts = [
    ...modeChanges(old, now),
    ...factChanges(factsOf(old), factsOf(now)),
    ...fieldDifferences(old, now, ["filterChains", "defaultFilterChain"]).map((text) => ({ subject, text })),
  ];
  const said = texts.length > 0 ? texts : [{ subject, text: "filter chains change" }];
  return said.map((change) => ({ ...change, text: `${where}: ${change.text}` }));
}

function factChanges(old: Facts, now: Facts): readonly Change[] {
  const changes: Change[] = [];
  const push = (text: string, risk: Risk | undefined): void =>
    void changes.push({ subject: "", text, ...(risk === undefined ? {} : { risk }) });
  for (const [name, { content, risks }] of now) {
    const was = old.get(name);
    if (!was) push(`${name} is new`, risks.new);
    else if (was.content !== content) push(`${name} changes`, risks.changed);
  }
  for (const [name, { risks }] of old) if (!now.has(name)) push(`${name} is gone`, risks.gone);
  return changes;
}

const inbound = 1;

/** Who is let in: with a certificate only (STRICT), without too (PERMISSIVE), or in plain text alone. */
function modeChanges(old: Listener, now: Listener): readonly Change[] {
  if (old.trafficDirection !== inbound || now.trafficDirection !== inbound) return [];
  const [before, after] = [modesOf(old), modesOf(now)];
  const moved = new Map<string, string[]>();
  for (const [port, mode] of after) {
    const was = before.get(port);
    if (was === undefined || was === mode) continue;
    const key = `mutual TLS ${was} becomes ${mode}`;
    moved.set(key, [...(moved.get(key) ?? []), port]);
  }
  return [...moved].map(([text, ports]) => ({
    subject: "",
    text: ports.length === after.size ? text : `${text} for ${ports.map((port) => portWord(port)).join(", ")}`,
    risk: "mtls",
  }));
}

const portWord = (port: string): string => (port === "" ? "other ports" : `port ${port}`);

function modesOf({ filterChains }: Listener): ReadonlyMap<string, string> {
  const seen = new Map<string, { tls: boolean; plain: boolean }>();
  for (const chain of filterChains) {
    // Of Envoy's own loop protection.
    if (chain.name === "virtualInbound-blackhole") continue;
    const port = String(chain.filterChainMatch?.destinationPort ?? "");
    const known = seen.get(port) ?? { tls: false, plain: false };
    if (asksForCertificate(chain)) known.tls = true;
    else known.plain = true;
    seen.set(port, known);
  }
  return new Map(
    [...seen].map(([port, { tls, plain }]) => [port, tls && plain ? "PERMISSIVE" : tls ? "STRICT" : "DISABLE"]),
  );
}

function asksForCertificate({ transportSocket }: FilterChain): boolean {
  const config = transportSocket?.configType.case === "typedConfig" ? transportSocket.configType.value : undefined;
  return unpack(DownstreamTlsContextSchema, config)?.requireClientCertificate === true;
}

function factsOf({ filterChains, defaultFilterChain }: Listener): Facts {
  const facts = new Map<string, { readonly content: Set<string>; readonly risks: Risks }>();
  const add: Add = (name, content, risks = {}) => {
    const known = facts.get(name) ?? { content: new Set(), risks };
    known.content.add(content);
    facts.set(name, known);
  };
  for (const chain of [...filterChains, ...(defaultFilterChain ? [defaultFilterChain] : [])]) chainFacts(chain, add);
  return new Map(
    [...facts].map(([name, { content, risks }]) => [name, { content: [...content].sort().join(), risks }]),
  );
}

type Add = (name: string, content: string, risks?: Risks) => void;

function chainFacts(chain: FilterChain, add: Add): void {
  const socket = chain.transportSocket?.configType;
  if (socket?.case === "typedConfig") add("TLS of servers", encoded(socket.value), { changed: "mtls" });
  const match = chain.filterChainMatch;
  const hosts = match?.serverNames ?? [];
  for (const host of hosts) add(`server name ${host}`, "");
  if (match?.destinationPort !== undefined) add(`port ${match.destinationPort}`, "");
  for (const { name, configType } of chain.filters) {
    const config = configType.case === "typedConfig" ? configType.value : undefined;
    const manager = unpack(HttpConnectionManagerSchema, config);
    if (manager) {
      for (const filter of manager.httpFilters) filterFacts(filter.name, anyOf(filter.configType), add);
      const rest = { ...manager, httpFilters: [] };
      for (const [key, value] of Object.entries(rest)) if (!uninteresting.has(key)) add(`HTTP ${key}`, show(value));
    } else filterFacts(name, config, add);
  }
}

/** Names of counters tell nothing that users asked for. */
const uninteresting: ReadonlySet<string> = new Set(["$typeName", "$unknown", "statPrefix", "httpFilters"]);

const anyOf = (config: { readonly case: string | undefined; readonly value?: unknown }): Any | undefined =>
  config.case === "typedConfig" ? (config.value as Any) : undefined;

function filterFacts(name: string, config: Any | undefined, add: Add): void {
  const rbac = unpack(HttpRbacSchema, config) ?? unpack(TcpRbacSchema, config);
  if (rbac) {
    if (rbac.rules) policyFacts(rbac.rules, "", add);
    if (rbac.shadowRules) policyFacts(rbac.shadowRules, " (dry run)", add);
    return;
  }
  const jwt = unpack(JwtAuthenticationSchema, config);
  if (jwt) {
    for (const { issuer } of Object.values(jwt.providers))
      add(`checking of tokens of ${issuer || "any issuer"}`, "", { new: "deny" });
    add("rules for tokens", config ? encoded(config) : "", { changed: "deny" });
    return;
  }
  const refuses = typeNameOf(config).includes("ext_authz");
  add(`filter ${name}`, config ? encoded(config) : "", refuses ? { new: "deny", changed: "deny" } : {});
}

function policyFacts(rules: RBAC, suffix: string, add: Add): void {
  const isDry = suffix !== "";
  const denies = rules.action === RBAC_Action.DENY;
  const word = RBAC_Action[rules.action] ?? "";
  // The first rule that allows something refuses all else.
  if (rules.action === RBAC_Action.ALLOW)
    add(`refusal of whatever no ALLOW rule matches${suffix}`, "", isDry ? {} : { new: "deny" });
  for (const [name, policy] of Object.entries(rules.policies)) {
    const origin = policyOrigin(name);
    const rule = origin ? `rule ${origin.rule} of ${origin.object.replace("/", " ")}` : name;
    add(
      `${word} ${rule}${suffix}`,
      Buffer.from(toBinary(PolicySchema, policy)).toString("base64"),
      isDry ? {} : denies ? { new: "deny", changed: "deny" } : { gone: "deny", changed: "deny" },
    );
  }
}

const encoded = ({ typeUrl, value }: Any): string => `${typeUrl} ${Buffer.from(value).toString("base64")}`;

const show = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner)) ?? "";
