/** The seam between the renderer and the files that render one kind of resource each. */
import type { ResourceType } from "../model/index.ts";
import type { Part, View } from "./view.ts";

export interface ResourceKind {
  readonly type: ResourceType;
  /** Names of all resources of this kind for the class; for kinds that proxies ask for by name, those that its other resources refer to. */
  names(view: View): readonly string[];
  /** One resource, encoded; undefined where there is none of that name. */
  render(view: View, name: string): Part | undefined;
}
