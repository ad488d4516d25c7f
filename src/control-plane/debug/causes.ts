/** `/debug/causez`: a proxy in; for each resource that it is sent the objects and fields that it was made from out. */
import type { Provenance } from "../../collections/index.ts";
import { lazyList } from "../../lib/index.ts";
import { envoyTypes, type ResourceType, routeHosts } from "../../model/index.ts";
import type { DebugView } from "../../ops/index.ts";
import type { Renderer } from "../../render/index.ts";
import type { ControlledSource } from "../source/resource-source.ts";

/** Of a resource, or of a virtual host of it. */
export interface CausesOf extends Provenance {
  readonly type: ResourceType;
  readonly name: string;
  readonly host?: string;
}

export function createCauseView(resources: Pick<ControlledSource, "rendererOf">): DebugView {
  return {
    help: "what a proxy's resources were made from: ?proxyID=",
    about: "proxy",
    answer({ proxy }) {
      const renderer = proxy && resources.rendererOf(proxy.node);
      return lazyList(renderer ? causesOfAll(renderer) : [].values());
    },
  };
}

/** One by one, as they are written. */
function* causesOfAll(renderer: Renderer): Generator<CausesOf> {
  for (const type of envoyTypes)
    for (const [name, resource] of renderer.set(type).entries()) {
      yield { type, name, ...renderer.provenance(type, name) };
      const parts = resource.hosts?.();
      for (const { name: whole } of parts ? routeHosts(parts) : []) {
        // After the name of its route.
        const host = whole.slice(name.length + 1);
        yield { type, name, host, ...renderer.provenance(type, name, host) };
      }
    }
}
