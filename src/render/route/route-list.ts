/** A VirtualService and a place in; its encoded routes out, the one that takes everything apart from the others. */
import { create, toBinary } from "@bufbuild/protobuf";
import { type Route, VirtualHostSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { joinKept } from "../../lib/index.ts";
import { type BuildFacet, type Config, objectName, type VirtualServiceSpec } from "../../model/index.ts";
import { sameBytes } from "../part.ts";
import type { View } from "../view.ts";
import { clustersOf } from "./action.ts";
import { httpRoute } from "./http-route.ts";
import { takesEverything } from "./match.ts";
import type { RoutePlace } from "./place.ts";
import { type MatchBlock, selectRoutes } from "./select.ts";

/**
 * Routes encoded as the field of a virtual host: messages concatenate, so virtual hosts that share routes share the
 * work. Where lists are joined, those that take everything have to come last.
 */
export interface RouteList {
  readonly routes: Uint8Array;
  readonly last: Uint8Array;
  readonly needs: readonly string[];
}

/** Of the whole VirtualService, or of a block of its matches. */
export function routeList(
  view: View<BuildFacet>,
  config: Config<VirtualServiceSpec>,
  place: RoutePlace,
  block?: MatchBlock,
): RouteList {
  const routes: Route[] = [];
  const object = objectName("VirtualService", config.meta);
  for (const selected of selectRoutes(config, place, block)) {
    view.mesh.graph.note(object, selected.field);
    routes.push(httpRoute(config, selected, place));
  }
  const tail = routes.at(-1);
  const closed = tail?.match !== undefined && takesEverything(tail.match);
  return {
    routes: encodeRoutes(closed ? routes.slice(0, -1) : routes),
    last: encodeRoutes(closed ? [tail] : []),
    needs: routes.flatMap((route) => (route.action.case === "route" ? clustersOf(route.action.value) : [])),
  };
}

/** The blocks of one VirtualService, in order: behind routes that take everything there is nothing. */
export function joinBlocks(blocks: Iterable<RouteList>): RouteList {
  const joined: RouteList[] = [];
  for (const block of blocks) {
    joined.push(block);
    if (block.last.length > 0) break;
  }
  return {
    routes: joinKept(joined.map(({ routes }) => routes)),
    last: joined.at(-1)?.last ?? new Uint8Array(),
    needs: joined.flatMap(({ needs }) => needs),
  };
}

export const noRoutes: RouteList = { routes: new Uint8Array(), last: new Uint8Array(), needs: [] };

export const sameRoutes = (a: RouteList, b: RouteList): boolean =>
  sameBytes(a.routes, b.routes) && sameBytes(a.last, b.last) && a.needs.join() === b.needs.join();

function encodeRoutes(routes: Route[]): Uint8Array {
  return toBinary(VirtualHostSchema, create(VirtualHostSchema, { routes }));
}
