/** What a gRPC client dials in (`xds:///HOST:PORT`); the listener that tells it where the routes are, out. */
import { create } from "@bufbuild/protobuf";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { HTTPFaultSchema } from "../../gen/envoy/extensions/filters/http/fault/v3/fault_pb.js";
import { RouterSchema } from "../../gen/envoy/extensions/filters/http/router/v3/router_pb.js";
import { HttpConnectionManagerSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { type ClientFacet, portByNumber, types } from "../../model/index.ts";
import { socket } from "../build/address.ts";
import { packAny } from "../build/any.ts";
import { httpFilter } from "../build/http-filter.ts";
import { additionalAddresses } from "../build/listener-chain.ts";
import { buildFacet } from "../facets.ts";
import { clientScope } from "../outbound/client-scope.ts";
import { outboundCluster } from "../outbound/cluster-name.ts";
import { encodePart, resourceOf } from "../part.ts";
import { servicePlaces } from "../proxy/addresses.ts";
import { keyOf, resourceRecipe, wordsOf } from "../recipe.ts";
import type { View } from "../view.ts";
import { ads } from "./ads.ts";
import type { ListenerName } from "./listener-name.ts";

/** Who dials a short name asks for a listener of that name; it leads where the full one would. */
export function outboundListenerKey(
  view: View<ClientFacet>,
  name: string,
  { host, port }: ListenerName,
): string | undefined {
  const scope = clientScope(view);
  for (const candidate of fullNames(view, host)) {
    const key = scope.keyFor(candidate);
    const service = key === undefined ? undefined : scope.service(key);
    if (service && portByNumber(service.ports, port)) return keyOf(name, service.key, String(port));
  }
  return undefined;
}

/** As the search domains of the client's Pod would complete it. */
function fullNames({ proxy, mesh }: View<ClientFacet>, host: string): readonly string[] {
  const { namespace } = proxy;
  const own = `${namespace}.svc.${mesh.domain}`;
  if (!host.includes(".")) return [host, `${host}.${own}`];
  const suffix = [`.${namespace}`, `.${namespace}.svc`].find((end) => host.endsWith(end));
  return suffix === undefined ? [host] : [host, `${host.slice(0, -suffix.length)}.${own}`];
}

/** All that gRPC knows on the way out. */
const filters = [
  httpFilter("envoy.filters.http.fault", packAny(HTTPFaultSchema, {})),
  httpFilter("envoy.filters.http.router", packAny(RouterSchema, {})),
];

export const outboundListener = resourceRecipe(buildFacet, types.listener, (view, key) => {
  const [name = "", serviceKey = "", portText = ""] = wordsOf(key);
  const service = view.mesh.service(serviceKey);
  if (!service) return undefined;
  const port = Number(portText);
  // Of a ServiceEntry's addresses Istio takes the last; gRPC itself reads none.
  const [first, ...others] = servicePlaces(view.proxy, service).at(-1) ?? ["0.0.0.0"];
  const rds = { configSource: ads, routeConfigName: outboundCluster(service.host, port) };
  const listener = create(ListenerSchema, {
    name,
    address: socket(first, port),
    additionalAddresses: additionalAddresses(others, port),
    apiListener: {
      apiListener: packAny(HttpConnectionManagerSchema, {
        httpFilters: filters,
        routeSpecifier: { case: "rds", value: rds },
      }),
    },
  });
  return resourceOf(name, encodePart(ListenerSchema, listener));
});
