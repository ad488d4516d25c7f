/** Label selectors as Kubernetes and Istio write them. */
import type { MeshLabelSelector as LabelSelector } from "./kinds/index.ts";

/** `key=value` of every label, sorted. */
export function labelPairs(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort();
}

/** True when `labels` has every pair of the selector; an empty selector matches all. */
export function matchesLabels(
  selector: Readonly<Record<string, string>>,
  labels: Readonly<Record<string, string>>,
): boolean {
  return Object.entries(selector).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value);
}

/** matchLabels and matchExpressions together; an unknown operator matches nothing. */
export function matchesSelector(selector: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  if (!matchesLabels(selector.matchLabels ?? {}, labels)) return false;
  return (selector.matchExpressions ?? []).every(({ key = "", operator, values = [] }) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (operator === "In") return value !== undefined && values.includes(value);
    if (operator === "NotIn") return value === undefined || !values.includes(value);
    if (operator === "Exists") return value !== undefined;
    return operator === "DoesNotExist" && value === undefined;
  });
}
