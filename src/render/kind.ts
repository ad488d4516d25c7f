/** The seam between the renderer and the files that render one kind of resource each. */
import type { Resource, ResourceType } from "../model/index.ts";
import type { Layer, LayerRef, Steps } from "./layer.ts";
import type { View } from "./view.ts";

export interface ResourceKind {
  readonly type: ResourceType;
  /**
   * All resources of this kind for the class, or, for kinds that proxies ask for by name, those that its other resources
   * refer to: layers by reference, as classes share them. A later layer hides an earlier one.
   */
  refs(view: View): readonly LayerRef[];
  /** Where patches make the layers the class's own, these; undefined where they are as referred to. */
  patched?(view: View): readonly Layer[] | undefined;
  /** The work of making the layers, in small pieces. */
  steps?(view: View): Steps;
  /** A resource that is in no layer but that a proxy may ask for by name; undefined where there is none. */
  render?(view: View, name: string): Resource | undefined;
  /** False where it never has anything for the class: then nobody keeps which names were asked for. */
  answers?(view: View): boolean;
}

export function layersOf(kind: ResourceKind, view: View): readonly Layer[] {
  return kind.patched?.(view) ?? kind.refs(view).map(({ memo, key }) => memo.get(key));
}
