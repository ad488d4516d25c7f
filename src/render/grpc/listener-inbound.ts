/** The address that a gRPC server listens on in; the listener with its mTLS and its authorisation out. */
import { create } from "@bufbuild/protobuf";
import type { TransportSocket } from "../../gen/envoy/config/core/v3/base_pb.js";
import { type FilterChain, FilterChainSchema } from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import { ListenerSchema } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import { NonForwardingActionSchema } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { RBACSchema } from "../../gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js";
import { RouterSchema } from "../../gen/envoy/extensions/filters/http/router/v3/router_pb.js";
import {
  HttpConnectionManagerSchema,
  type HttpFilter,
} from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { type ServerFacet, types } from "../../model/index.ts";
import { socket } from "../build/address.ts";
import { packAny } from "../build/any.ts";
import { httpFilter } from "../build/http-filter.ts";
import { additionalAddresses, networkFilter } from "../build/listener-chain.ts";
import { serverFacet } from "../facets.ts";
import { mtlsMode } from "../listener/inbound-plan.ts";
import { encodePart, resourceOf } from "../part.ts";
import { servicePlaces } from "../proxy/addresses.ts";
import { resourceRecipe, wordsOf } from "../recipe.ts";
import { packRules, plainAuthorization } from "../security/index.ts";
import type { View } from "../view.ts";
import { parseListenerName } from "./listener-name.ts";
import { serverSocket } from "./tls.ts";

/** The first word of the key is the name. */
export const inboundListener = resourceRecipe(serverFacet, types.listener, (view, key) => {
  const [name = ""] = wordsOf(key);
  const parsed = parseListenerName(name);
  // Of several services on one port Istio takes the last, be it for UDP, so these are no `servedPorts`; they differ in
  // nothing that is used here but their addresses.
  const target = view.proxy.targets.findLast(({ targetPort }) => targetPort === parsed?.port);
  const service = target && view.mesh.service(target.service);
  if (!parsed || !service) return undefined;
  const { host, port } = parsed;
  const [, ...others] = servicePlaces(view.proxy, service)[0] ?? [""];
  const listener = create(ListenerSchema, {
    name,
    address: socket(host, port),
    additionalAddresses: additionalAddresses(others, port),
    filterChains: [demandsMtls(view, port) ? chain(view, "mtls", serverSocket()) : chain(view, "plaintext")],
  });
  return resourceOf(name, encodePart(ListenerSchema, listener));
});

/** gRPC cannot take both: PERMISSIVE is plaintext, unless clients are told that the server takes mTLS. */
function demandsMtls(view: View<ServerFacet>, port: number): boolean {
  const mode = mtlsMode(view, port);
  return mode === "STRICT" || (mode === "PERMISSIVE" && view.proxy.promisesMtls);
}

function chain(view: View<ServerFacet>, kind: string, transportSocket?: TransportSocket): FilterChain {
  const manager = packAny(HttpConnectionManagerSchema, {
    httpFilters: [...authorization(view), httpFilter("envoy.filters.http.router", packAny(RouterSchema, {}))],
    routeSpecifier: { case: "routeConfig", value: everything },
  });
  return create(FilterChainSchema, {
    name: `inbound-${kind}`,
    filters: [networkFilter(`inbound-hcm${kind}`, manager)],
    ...(transportSocket ? { transportSocket } : {}),
  });
}

/** Requests are for the server itself. */
const everything = create(RouteConfigurationSchema, {
  name: "inbound",
  virtualHosts: [
    {
      domains: ["*"],
      routes: [
        {
          match: { pathSpecifier: { case: "prefix", value: "/" } },
          action: { case: "nonForwardingAction", value: create(NonForwardingActionSchema) },
        },
      ],
    },
  ],
});

/** gRPC knows DENY and ALLOW, and takes no two filters of one name. */
function authorization(view: View<ServerFacet>): readonly HttpFilter[] {
  return plainAuthorization(view).map(({ action, rules }) =>
    httpFilter(`envoy.filters.http.rbac${action === "DENY" ? ".DENY" : ""}`, packRules(RBACSchema, { rules })),
  );
}
