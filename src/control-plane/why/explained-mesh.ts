/** What an explanation needs of a mesh, whoever has it: its proxies, views of what they are sent, and who made that. */
import type { ProxyView, World } from "../../explain/index.ts";
import type { Mesh } from "../../mesh/index.ts";
import type { Proxy, ResourceType, ServiceTarget } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";

/** As far as a question names it. */
export type ExplainedProxy = Pick<Proxy, "name" | "namespace" | "type" | "labels" | "addresses">;

export interface ExplainedMesh {
  readonly mesh: Mesh;
  readonly proxies: readonly ExplainedProxy[];
  readonly world: World;
  view(proxy: ExplainedProxy): ProxyView;
  /** Ports of services that it serves. */
  targets(proxy: ExplainedProxy): readonly ServiceTarget[];
  /** Objects and fields that a proxy's resource was made from. */
  causes(proxy: string, type: ResourceType, name: string): ReturnType<Renderer["causes"]>;
}

export const explainedName = ({ name, namespace }: ExplainedProxy): string => `${name}.${namespace}`;
