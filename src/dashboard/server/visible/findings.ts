/** Findings in; those about what a viewer may see out, without words that name something else. */
import type { Finding } from "../../../read-api/index.ts";
import { type KindInNamespace, ofObject, ofProxy, podsIn } from "./kind-in-namespace.ts";
import { notShown, type Sight } from "./sight.ts";

export async function seenFindings(findings: readonly Finding[], sight: Sight): Promise<readonly Finding[]> {
  const names = await sight.hiddenNames();
  return (await sight.seen(findings, ofFinding)).map((finding) =>
    names(finding.message) ? { ...finding, message: notShown } : finding,
  );
}

const ofFinding = ({ object, proxy, namespaces = [] }: Finding): readonly KindInNamespace[] => [
  ...(object === undefined ? [] : [ofObject(object)]),
  ...(proxy === undefined ? [] : [ofProxy(proxy)]),
  ...namespaces.map(podsIn),
];
