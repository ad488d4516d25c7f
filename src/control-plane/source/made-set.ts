/** A class of proxies and a type of resources in; what the class has of it out. */
import type { ResourceSet, ResourceType } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";

/**
 * Undefined where that was never made, by a fault of ours, which is told where proxies ask for it. Whoever looks at all that
 * classes have must not fail over that: it is one class's, and one type's.
 */
export function madeSet(renderer: Pick<Renderer, "set">, type: ResourceType): ResourceSet | undefined {
  try {
    return renderer.set(type);
  } catch {
    return undefined;
  }
}
