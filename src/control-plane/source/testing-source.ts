/** For tests: the stages of a mesh in; what its proxies are sent, soon after a change, out. A fault is a test's own. */
import { proxyOfNode } from "../proxy-of-node.ts";
import type { Stages } from "../stages.ts";
import { type ControlledSource, createResourceSource } from "./resource-source.ts";

export function sourceOf(
  { mesh, registry, classOf }: Stages,
  { domain, cluster }: { readonly domain: string; readonly cluster: string },
): ControlledSource {
  const context = { mesh, registry, domain, cluster };
  return createResourceSource({
    mesh,
    proxyOf: (node, identity) => proxyOfNode(node, context, identity),
    classOf,
    debounceMs: 1,
    debounceMaxMs: 10,
    onFault: (_proxy, { error }) => {
      throw error;
    },
  });
}
