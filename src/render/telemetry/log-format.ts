/** What the user wrote as a log format, or nothing, in; Envoy's substitution format out. */
import type { JsonObject } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import type { TypedExtensionConfig } from "../../gen/envoy/config/core/v3/extension_pb.js";
import { TypedExtensionConfigSchema } from "../../gen/envoy/config/core/v3/extension_pb.js";
import type { SubstitutionFormatStringSchema } from "../../gen/envoy/config/core/v3/substitution_format_string_pb.js";
import { ReqWithoutQuerySchema } from "../../gen/envoy/extensions/formatter/req_without_query/v3/req_without_query_pb.js";
import { packAny } from "../build/any.ts";
import type { Fields } from "../build/fields.ts";

/** Istio's default line. */
export const defaultText =
  '[%START_TIME%] "%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%" %RESPONSE_CODE% %RESPONSE_FLAGS% ' +
  '%RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% "%UPSTREAM_TRANSPORT_FAILURE_REASON%" %BYTES_RECEIVED% ' +
  '%BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% "%REQ(X-FORWARDED-FOR)%" "%REQ(USER-AGENT)%" ' +
  '"%REQ(X-REQUEST-ID)%" "%REQ(:AUTHORITY)%" "%UPSTREAM_HOST%" %UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% ' +
  "%DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%\n";

/** Istio's default fields, named as its documentation does. */
export const defaultFields: JsonObject = {
  start_time: "%START_TIME%",
  route_name: "%ROUTE_NAME%",
  method: "%REQ(:METHOD)%",
  path: "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
  protocol: "%PROTOCOL%",
  response_code: "%RESPONSE_CODE%",
  response_flags: "%RESPONSE_FLAGS%",
  response_code_details: "%RESPONSE_CODE_DETAILS%",
  connection_termination_details: "%CONNECTION_TERMINATION_DETAILS%",
  bytes_received: "%BYTES_RECEIVED%",
  bytes_sent: "%BYTES_SENT%",
  duration: "%DURATION%",
  upstream_service_time: "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%",
  x_forwarded_for: "%REQ(X-FORWARDED-FOR)%",
  user_agent: "%REQ(USER-AGENT)%",
  request_id: "%REQ(X-REQUEST-ID)%",
  authority: "%REQ(:AUTHORITY)%",
  upstream_host: "%UPSTREAM_HOST%",
  upstream_cluster: "%UPSTREAM_CLUSTER_RAW%",
  upstream_local_address: "%UPSTREAM_LOCAL_ADDRESS%",
  downstream_local_address: "%DOWNSTREAM_LOCAL_ADDRESS%",
  downstream_remote_address: "%DOWNSTREAM_REMOTE_ADDRESS%",
  requested_server_name: "%REQUESTED_SERVER_NAME%",
  upstream_transport_failure_reason: "%UPSTREAM_TRANSPORT_FAILURE_REASON%",
};

type Format = Fields<typeof SubstitutionFormatStringSchema>;

/** Every line ends in a newline, whether or not the user wrote it. */
export function textFormat(text: string, omitEmptyValues = false): Format {
  const line = text === "" ? defaultText : text.endsWith("\n") ? text : `${text}\n`;
  return {
    format: { case: "textFormatSource", value: { specifier: { case: "inlineString", value: line } } },
    omitEmptyValues,
    formatters: formattersFor([line]),
  };
}

export function jsonFormat(fields: JsonObject, omitEmptyValues = false): Format {
  const chosen = Object.keys(fields).length === 0 ? defaultFields : fields;
  return {
    format: { case: "jsonFormat", value: chosen },
    jsonFormatOptions: { sortProperties: false },
    omitEmptyValues,
    formatters: formattersFor(Object.values(chosen)),
  };
}

/** The one command that Envoy keeps in an extension of its own; nested values are not looked at, as in Istio. */
export function formattersFor(values: readonly unknown[]): TypedExtensionConfig[] {
  if (!values.some((value) => typeof value === "string" && value.includes("%REQ_WITHOUT_QUERY"))) return [];
  const typedConfig = packAny(ReqWithoutQuerySchema, {});
  return [create(TypedExtensionConfigSchema, { name: "envoy.formatter.req_without_query", typedConfig })];
}
