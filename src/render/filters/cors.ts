/** CORS: present everywhere, configured by routes. */
import { CorsSchema } from "../../gen/envoy/extensions/filters/http/cors/v3/cors_pb.js";
import { packAny } from "../build/any.ts";
import { httpFilter } from "../build/http-filter.ts";
import type { HttpFilterPass } from "./http-filter.ts";

export const cors: HttpFilterPass = () => [httpFilter("envoy.filters.http.cors", packAny(CorsSchema, {}))];
