/** Sends the request on; always last. */
import { RouterSchema } from "../../gen/envoy/extensions/filters/http/router/v3/router_pb.js";
import { packAny } from "../build/any.ts";
import { httpFilter } from "../build/http-filter.ts";
import { proxyConfig } from "../proxy/proxy-config.ts";
import type { HttpFilterPass } from "./http-filter.ts";

export const router: HttpFilterPass = ({ view }) => {
  const suppressEnvoyHeaders = proxyConfig(view.proxy).proxyHeaders?.envoyDebugHeaders?.disabled === true;
  return [httpFilter("envoy.filters.http.router", packAny(RouterSchema, { suppressEnvoyHeaders }))];
};
