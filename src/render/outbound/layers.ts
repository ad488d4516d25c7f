/** What was decided for a client in; its outbound clusters or endpoints as layers, most of them shared with all others, out. */
import type { BuildFacet, ClientFacet, PlacedFacet } from "../../model/index.ts";
import { buildFacet, clientFacet, placedClientFacet, placedFacet, type TypeFacet, typeFacet } from "../facets.ts";
import { type LayerRef, layerRecipe, memberLayer, type Refs, type Steps, step } from "../layer.ts";
import { memberRecipe, type ResourceRecipe, type ResourceRef } from "../recipe.ts";
import type { View } from "../view.ts";
import { clientDecisions, type Decisions, decisionSteps, publicDecision, publicServices } from "./decisions.ts";
import type { DecidedTarget } from "./targets.ts";

/** How one kind of resource follows from what was decided about a cluster. */
export interface OutboundKind {
  readonly name: string;
  isMeant(target: DecidedTarget): boolean;
  /** Whether it is another for clients in other places. */
  isNear(target: DecidedTarget): boolean;
  readonly anywhere: ResourceRecipe<BuildFacet>;
  readonly placed: ResourceRecipe<PlacedFacet>;
}

interface OutboundLayers {
  refs(view: View<ClientFacet & PlacedFacet>): readonly LayerRef[];
  steps(view: View<ClientFacet & PlacedFacet>): Steps;
}

/** Later layers hide earlier ones: what all see, then what the client's namespace sees otherwise. */
export function outboundLayers(kind: OutboundKind): OutboundLayers {
  const { name, anywhere, placed } = kind;
  const refs = (decisions: Decisions, near: boolean, ref: (key: string) => ResourceRef): Refs => {
    const found = new Map<string, ResourceRef>();
    for (const { targets } of decisions.values())
      for (const target of targets)
        if (kind.isMeant(target) && kind.isNear(target) === near) found.set(target.name, ref(target.key));
    return found;
  };
  const openTargets = (view: View<TypeFacet>, service: string, near: boolean): readonly DecidedTarget[] =>
    (publicDecision(view, service)?.targets ?? []).filter(
      (target) => kind.isMeant(target) && kind.isNear(target) === near,
    );
  const open = memberLayer(buildFacet, `public ${name}`, publicServices, (view, service) =>
    openTargets(view, service, false).flatMap(({ key }) => anywhere(view, key) ?? []),
  );
  /** Few, if any: no place has to go through all services. */
  const nearServices = memberRecipe<TypeFacet, true, readonly string[]>(typeFacet, `services with near ${name}`, {
    list: publicServices,
    each: (view, service) => (openTargets(view, service, true).length > 0 ? true : undefined),
    whole: (services) => [...services.keys()],
  });
  const openNear = memberLayer(placedFacet, `public near ${name}`, nearServices, (view, service) =>
    openTargets(view, service, true).flatMap(({ key }) => placed(view, key) ?? []),
  );
  const own = layerRecipe(clientFacet, `own ${name}`, (view) =>
    refs(clientDecisions(view).services, false, (key) => anywhere.ref(view, key)),
  );
  const ownNear = layerRecipe(placedClientFacet, `own near ${name}`, (view) =>
    refs(clientDecisions(view).services, true, (key) => placed.ref(view, key)),
  );
  const recipes = (view: View<ClientFacet & PlacedFacet>) => {
    const { onPublic, services } = clientDecisions(view);
    return [...(onPublic ? [open, openNear] : []), ...(services.size > 0 ? [own, ownNear] : [])];
  };
  return {
    refs: (view) => recipes(view).map((layer) => layer.ref(view)),
    *steps(view) {
      yield* decisionSteps(view);
      yield* step(clientDecisions.ref(view));
      if (clientDecisions(view).onPublic) yield* nearServices.steps(view);
      for (const layer of recipes(view)) yield* layer.steps(view);
    },
  };
}
