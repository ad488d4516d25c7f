/** Fault injection: present everywhere, configured by routes. */
import { HTTPFaultSchema } from "../../gen/envoy/extensions/filters/http/fault/v3/fault_pb.js";
import { packAny } from "../build/any.ts";
import { httpFilter } from "../build/http-filter.ts";
import type { HttpFilterPass } from "./http-filter.ts";

export const fault: HttpFilterPass = () => [httpFilter("envoy.filters.http.fault", packAny(HTTPFaultSchema, {}))];
