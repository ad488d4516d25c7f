/** A webhook and a write in, whether (and in which version of the kind) the webhook is to be asked out. */
import { type KubeObject, type LabelSelector, matchesSelector } from "../model/index.ts";
import { at, listAt, recordAt, textAt, textsAt } from "./access.ts";
import type { AdmissionRequest } from "./admission.ts";
import type { ApiKind } from "./kind.ts";
import type { KindRegistry } from "./kind-registry.ts";
import type { Store } from "./store.ts";

/** The kind as the webhook wants to see it, or undefined where it is not concerned. */
export function concernedKind(
  webhook: unknown,
  request: AdmissionRequest,
  registry: KindRegistry,
  store: Store,
): ApiKind | undefined {
  const { kind } = request.request;
  // Kubernetes never asks webhooks about webhooks: a bad one could not be repaired.
  if (kind.group === "admissionregistration.k8s.io" && kind.kind.endsWith("WebhookConfiguration")) return undefined;
  if (!namespaceMatches(webhook, request, store) || !objectMatches(webhook, request)) return undefined;
  const rules = listAt(webhook, "rules");
  if (rules.some((rule) => ruleMatches(rule, request, kind))) return kind;
  if (textAt(webhook, "matchPolicy") === "Exact") return undefined;
  const others = registry.kinds.filter(
    (other) => other.group === kind.group && other.plural === kind.plural && other !== kind,
  );
  return others.find((other) => rules.some((rule) => ruleMatches(rule, request, other)));
}

function ruleMatches(rule: unknown, { operation, request }: AdmissionRequest, kind: ApiKind): boolean {
  const anyOf = (list: readonly string[], value: string): boolean => list.includes("*") || list.includes(value);
  const scope = textAt(rule, "scope") || "*";
  return (
    anyOf(textsAt(rule, "operations"), operation) &&
    anyOf(textsAt(rule, "apiGroups"), kind.group) &&
    anyOf(textsAt(rule, "apiVersions"), kind.version) &&
    (scope === "*" || (scope === "Namespaced") === kind.namespaced) &&
    textsAt(rule, "resources").some((resource) => resourceMatches(resource, kind.plural, request.subresource ?? ""))
  );
}

function resourceMatches(pattern: string, plural: string, subresource: string): boolean {
  const [resource = "", sub = ""] = pattern.split("/");
  return (resource === "*" || resource === plural) && (sub === "*" || sub === subresource);
}

function namespaceMatches(webhook: unknown, { request, object, before }: AdmissionRequest, store: Store): boolean {
  const selector = selectorAt(webhook, "namespaceSelector");
  if (selector === undefined) return true;
  if (request.kind.group === "" && request.kind.kind === "Namespace")
    return matchesSelector(selector, (object ?? before)?.metadata.labels);
  if (!request.kind.namespaced) return true;
  return matchesSelector(selector, store.get("/namespaces", request.namespace ?? "")?.metadata.labels);
}

function objectMatches(webhook: unknown, { object, before }: AdmissionRequest): boolean {
  const selector = selectorAt(webhook, "objectSelector");
  const matches = (candidate: KubeObject | undefined): boolean =>
    candidate !== undefined && matchesSelector(selector, candidate.metadata.labels);
  return selector === undefined || matches(object) || matches(before);
}

/** Its shape has been checked when it was stored. */
function selectorAt(webhook: unknown, name: string): LabelSelector | undefined {
  return at(webhook, name) === undefined ? undefined : (recordAt(webhook, name) as LabelSelector);
}
