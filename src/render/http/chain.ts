/** What a connection manager is made for, and what it is made of before it is encoded. */
import type { RouteConfiguration } from "../../gen/envoy/config/route/v3/route_pb.js";
import type { HttpConnectionManagerSchema } from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import type { Fields } from "../build/fields.ts";
import type { HttpPlace } from "../filters/http-filter.ts";

export type HcmInit = Fields<typeof HttpConnectionManagerSchema>;

/** What decides about all that many chains share. */
export type SharedPlace = HttpPlace & {
  /** Requests name the whole URL, as to a forward proxy. */
  readonly absoluteUrls?: boolean;
};

export type HttpChain = SharedPlace & {
  readonly statPrefix: string;
  /** A route configuration of its own, or the name of one that is asked for over RDS. */
  readonly routes: { readonly rds: string } | { readonly config: RouteConfiguration };
};
