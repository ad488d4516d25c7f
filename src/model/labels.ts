/** Labels, and the plain selectors that Services and Istio's objects write. */

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

/** Annotation of what `fairlead up` itself runs, such as the control plane's Pod and Deployment. */
export const ownPart = "fairlead.dev/part";
