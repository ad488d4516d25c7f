/** An AuthorizationPolicy in, what istiod's webhook says of it into the report. */
import type {
  AuthorizationCondition,
  AuthorizationOperation,
  AuthorizationPolicySpec,
  AuthorizationRule,
  AuthorizationSource,
} from "../../model/index.ts";
import {
  attributeError,
  emptyValueError,
  ipErrors,
  pathTemplateError,
  portErrors,
  serviceAccountError,
  trustDomainError,
} from "./authorization-values.ts";
import type { Check } from "./check.ts";
import { each, type Report } from "./report.ts";
import { checkAttachment } from "./selector.ts";

export const checkAuthorizationPolicy: Check<AuthorizationPolicySpec> = (outer, spec, { name, namespace }) => {
  const report = new Prefixed(outer, `invalid policy ${name}.${namespace}: `);
  checkAttachment(report, spec);
  const action = spec.action ?? "ALLOW";
  const rules = spec.rules ?? [];
  if (action === "CUSTOM") checkCustom(report, spec);
  if (spec.provider && action !== "CUSTOM")
    report.error(`\`provider\` must not be with non CUSTOM action, found ${action}`);
  if (action === "DENY" && rules.length === 0) report.error(neverTriggered("DENY"));
  each(report, "rules", rules, (rule, at, i) => checkRule(at, rule, i, action === "DENY"));
};

/** Istio names the policy in its errors, not in its warnings. A class, since a large policy has tens of thousands. */
class Prefixed implements Report {
  readonly #report: Report;
  readonly #prefix: string;

  constructor(report: Report, prefix: string) {
    this.#report = report;
    this.#prefix = prefix;
  }

  at(...path: readonly (string | number)[]): Report {
    return new Prefixed(this.#report.at(...path), this.#prefix);
  }

  error(message: string | undefined): void {
    if (message !== undefined) this.#report.error(`${this.#prefix}${message}`);
  }

  warn(message: string | undefined): void {
    this.#report.warn(message);
  }

  get quiet(): Report {
    return new Prefixed(this.#report.quiet, this.#prefix);
  }
}

const neverTriggered = (action: string): string =>
  `${action} action without \`rules\` is meaningless as it will never be triggered, add an empty rule \`{}\` if you want it be triggered for every request`;

const peerFields = [
  ["namespaces", "Namespaces"],
  ["notNamespaces", "NotNamespaces"],
  ["serviceAccounts", "ServiceAccounts"],
  ["notServiceAccounts", "NotServiceAccounts"],
  ["trustDomains", "TrustDomains"],
  ["notTrustDomains", "NotTrustDomains"],
  ["principals", "Principals"],
  ["notPrincipals", "NotPrincipals"],
  ["requestPrincipals", "RequestPrincipals"],
  ["notRequestPrincipals", "NotRequestPrincipals"],
] as const;

const peerKeys: ReadonlySet<string> = new Set([
  "source.namespace",
  "source.serviceAccount",
  "source.trustDomain",
  "source.principal",
]);

/** An external authorizer is asked before the peer and the JWT are known to the filter. */
function checkCustom(report: Report, spec: AuthorizationPolicySpec): void {
  const rules = spec.rules ?? [];
  if (rules.length === 0) report.error(neverTriggered("CUSTOM"));
  else if ((spec.provider?.name ?? "") === "") report.error("`provider.name` must not be empty");
  const unsupported = (name: string): string => `${name} is currently not supported with CUSTOM action`;
  each(report, "rules", rules, (rule, at) => {
    each(at, "from", rule.from, ({ source }, below) => {
      for (const [field, name] of peerFields)
        if ((source?.[field] ?? []).length > 0) below.at("source", field).error(unsupported(`From.${name}`));
    });
    each(at, "when", rule.when, ({ key = "" }, below) => {
      if (peerKeys.has(key) || key.startsWith("request.auth.")) below.error(unsupported(key));
    });
  });
}

function checkRule(report: Report, rule: AuthorizationRule, index: number, deny: boolean): void {
  const found = `found at rule ${index}`;
  each(report, "from", rule.from, ({ source }, at) => {
    if (source) checkSource(at.at("source"), source, found);
    else at.error(`\`from.source\` must not be nil, ${found}`);
  });
  each(report, "to", rule.to, ({ operation }, at) => {
    if (operation) checkOperation(at.at("operation"), operation, found);
    else at.error(`\`to.operation\` must not be nil, ${found}`);
  });
  each(report, "when", rule.when, (condition, at) => checkCondition(at, condition));
  if (deny && onlyHttp(rule))
    report.warn(
      "configured AuthorizationPolicy will deny all traffic to TCP ports under its scope due to the use of only HTTP attributes in a DENY rule; it is recommended to explicitly specify the port",
    );
}

const sourceFields = [
  "principals",
  "requestPrincipals",
  "namespaces",
  "ipBlocks",
  "remoteIpBlocks",
  "serviceAccounts",
  "trustDomains",
  "notPrincipals",
  "notRequestPrincipals",
  "notNamespaces",
  "notIpBlocks",
  "notRemoteIpBlocks",
  "notServiceAccounts",
  "notTrustDomains",
] as const;

const has = (list: readonly string[] | undefined): boolean => (list ?? []).length > 0;

const capitalised = (name: string): string => `${name.charAt(0).toUpperCase()}${name.slice(1)}`;

function checkSource(report: Report, source: AuthorizationSource, found: string): void {
  const named =
    has(source.principals) || has(source.notPrincipals) || has(source.namespaces) || has(source.notNamespaces);
  if (named && (has(source.serviceAccounts) || has(source.notServiceAccounts)))
    report.error(`cannot set serviceAccounts with namespaces or principals, ${found}`);
  if (!sourceFields.some((field) => has(source[field]))) report.error(`\`from.source\` must not be empty, ${found}`);
  for (const field of ["ipBlocks", "notIpBlocks", "remoteIpBlocks", "notRemoteIpBlocks"] as const)
    for (const message of ipErrors(source[field] ?? [])) report.at(field).error(message);
  checkLists(report, source, sourceFields);
}

const listChecks: ReadonlyMap<string, typeof emptyValueError> = new Map([
  ["serviceAccounts", serviceAccountError],
  ["notServiceAccounts", serviceAccountError],
  ["trustDomains", trustDomainError],
  ["notTrustDomains", trustDomainError],
]);

/** Of the fields that are there: most are not, of thousands of sources. */
function checkLists<Field extends string>(
  report: Report,
  lists: Readonly<Partial<Record<Field, readonly string[]>>>,
  fields: readonly Field[],
): void {
  for (const field of fields) {
    const values = lists[field];
    if (!values || values.length === 0) continue;
    const wrong = (listChecks.get(field) ?? emptyValueError)(capitalised(field), values);
    if (wrong !== undefined) report.at(field).error(wrong);
  }
}

const operationFields = [
  "ports",
  "methods",
  "paths",
  "hosts",
  "notPorts",
  "notMethods",
  "notPaths",
  "notHosts",
] as const;

function checkOperation(report: Report, operation: AuthorizationOperation, found: string): void {
  if (!operationFields.some((field) => has(operation[field])))
    report.error(`\`to.operation\` must not be empty, ${found}`);
  for (const field of ["ports", "notPorts"] as const)
    for (const message of portErrors(operation[field] ?? [])) report.at(field).error(message);
  checkLists(report, operation, operationFields);
  for (const field of ["paths", "notPaths"] as const)
    report.at(field).error(pathTemplateError(capitalised(field), operation[field] ?? []));
}

function checkCondition(report: Report, { key = "", values = [], notValues = [] }: AuthorizationCondition): void {
  if (key === "") {
    report.error("`key` must not be empty");
    return;
  }
  if (values.length === 0 && notValues.length === 0) {
    report.error(`at least one of \`values\` or \`notValues\` must be set for key ${key}`);
    return;
  }
  const wrong = attributeError(key, values);
  if (wrong) report.error(`invalid \`value\` for \`key\` ${key}: ${wrong}`);
  const wrongNot = attributeError(key, notValues);
  if (wrongNot) report.error(`invalid \`notValue\` for \`key\` ${key}: ${wrongNot}`);
}

const tcpSourceFields = [
  "principals",
  "notPrincipals",
  "ipBlocks",
  "notIpBlocks",
  "namespaces",
  "notNamespaces",
  "remoteIpBlocks",
  "notRemoteIpBlocks",
  "serviceAccounts",
  "notServiceAccounts",
] as const;

/** On TCP ports HTTP attributes are left out of a rule, so a DENY with nothing else denies everything. */
function onlyHttp({ from = [], to = [] }: AuthorizationRule): boolean {
  const sources = from.flatMap(({ source }) => (source ? [source] : []));
  const operations = to.flatMap(({ operation }) => (operation ? [operation] : []));
  const tcpFrom = sources.some((source) => tcpSourceFields.some((field) => has(source[field])));
  const tcpTo = operations.some((operation) => has(operation.ports) || has(operation.notPorts));
  return (sources.length > 0 && operations.length === 0 && !tcpFrom) || (operations.length > 0 && !tcpTo);
}
