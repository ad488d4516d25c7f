/** A Pod and the policy of the mesh in; whether it is injected out, with the reason where it is not. */
import { matchesSelector } from "../model/index.ts";
import { annotationsOf, labelsOf, metadataOf, type Pod, specOf } from "./pod.ts";
import type { InjectPolicy } from "./values.ts";

/** Kubernetes' own namespaces, and kind's. */
const ignoredNamespaces: ReadonlySet<string> = new Set([
  "kube-system",
  "kube-public",
  "kube-node-lease",
  "local-path-storage",
]);

const inject = "sidecar.istio.io/inject";

/** Capture in the host's network would capture the host. */
export const usesHostNetwork = (pod: Pod): boolean => specOf(pod).hostNetwork === true;

export function isInjected(pod: Pod, policy: InjectPolicy): boolean {
  if (usesHostNetwork(pod) || ignoredNamespaces.has(String(metadataOf(pod).namespace ?? ""))) return false;
  const labels = labelsOf(pod);
  // The label is the newer of the two, and wins.
  const wish = Object.hasOwn(labels, inject) ? labels[inject] : annotationsOf(pod)[inject];
  if (wish === "true" || wish === "false") return wish === "true";
  const selected = (selectors: InjectPolicy["neverInject"]): boolean =>
    selectors.some((selector) => !isEmpty(selector) && matchesSelector(selector, labels));
  if (selected(policy.neverInject)) return false;
  return selected(policy.alwaysInject) || policy.enabledByDefault;
}

/** An empty selector in a list of exceptions is a slip, not "all Pods". */
const isEmpty = ({ matchLabels, matchExpressions }: InjectPolicy["neverInject"][number]): boolean =>
  Object.keys(matchLabels ?? {}).length === 0 && (matchExpressions ?? []).length === 0;
