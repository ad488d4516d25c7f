/** Data in, YAML as kubectl and istioctl write it out: keys in order, lists not indented, no folded lines. */
import { dump } from "js-yaml";

export function formatSortedYaml(data: unknown): string {
  return dump(data, { noRefs: true, lineWidth: -1, sortKeys: true, seqNoIndent: true });
}
