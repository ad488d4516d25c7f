/** A direction, a protocol and the tags that users set in; the format of the line that Envoy writes for its agent out. */
import {
  columnSeparator,
  groupSeparator,
  httpValueColumns,
  type LabelColumn,
  labelColumns,
  type MetricPlan,
  requestNotes,
  tapHeaders,
  tcpValueColumns,
} from "../../model/index.ts";
import type { Direction } from "../proxy/direction.ts";

type Formats<Column extends string> = Readonly<Record<Column, string>>;

/** The address is the connection's own, whatever a forwarded header says. */
const fromPeer = {
  peerAddress: "%DOWNSTREAM_DIRECT_REMOTE_ADDRESS_WITHOUT_PORT%",
  peerPrincipal: "%DOWNSTREAM_PEER_URI_SAN%",
  localPrincipal: "%DOWNSTREAM_LOCAL_URI_SAN%",
  peerWorkload: "",
};
const toPeer = {
  peerAddress: "%UPSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
  peerPrincipal: "%UPSTREAM_PEER_URI_SAN%",
  localPrincipal: "%UPSTREAM_LOCAL_URI_SAN%",
  peerWorkload: "%METADATA(UPSTREAM_HOST:istio:workload)%",
};
const decided = {
  cluster: "%UPSTREAM_CLUSTER_RAW%",
  services: "%METADATA(CLUSTER:istio:services)%",
  route: "%ROUTE_NAME%",
  responseFlags: "%RESPONSE_FLAGS%",
};
const http = { responseCode: "%RESPONSE_CODE%", grpcStatus: "%GRPC_STATUS_NUMBER%" };
const tcp = { responseCode: "", grpcStatus: "" };

const bytes = { receivedBytes: "%DOWNSTREAM_WIRE_BYTES_RECEIVED%", sentBytes: "%DOWNSTREAM_WIRE_BYTES_SENT%" };
const httpValues: Formats<(typeof httpValueColumns)[number]> = {
  durationMs: "%DURATION%",
  ...bytes,
  messages: "%FILTER_STATE(envoy.filters.http.grpc_stats:PLAIN)%",
};
const tcpValues: Formats<(typeof tcpValueColumns)[number]> = {
  logType: "%ACCESS_LOG_TYPE%",
  connection: "%STREAM_ID%",
  ...bytes,
};

export function lineFormat(direction: Direction, protocol: MetricPlan["protocol"], further: readonly string[]): string {
  const labels: Formats<LabelColumn> = {
    ...(direction === "inbound" ? fromPeer : toPeer),
    ...decided,
    ...(protocol === "http" ? http : tcp),
  };
  const values =
    protocol === "http"
      ? httpValueColumns.map((column) => httpValues[column])
      : tcpValueColumns.map((column) => tcpValues[column]);
  const key = [...labelColumns.map((column) => labels[column]), ...further];
  return [key, values].map((columns) => columns.join(columnSeparator)).join(groupSeparator);
}

const noteFormats: Formats<(typeof requestNotes)[number]> = {
  method: "%REQ(:METHOD):32%",
  authority: "%REQ(:AUTHORITY):256%",
  path: "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH):1024%",
};

/** What is noted of a request beside the line, by name. */
export const requestNoteFormats: readonly (readonly [string, string])[] = [
  ...requestNotes.map((note) => [note, noteFormats[note]] as const),
  ...tapHeaders.map((header) => [header, `%REQ(${header.toUpperCase()}):256%`] as const),
];

/** Longer values would be no label that anybody reads. */
const longest = 128;

const attributes: ReadonlyMap<string, string> = new Map([
  ["request.host", `%REQ(:AUTHORITY):${longest}%`],
  ["request.method", `%REQ(:METHOD):${longest}%`],
  ["request.path", `%REQ(:PATH):${longest}%`],
  ["request.scheme", `%REQ(:SCHEME):${longest}%`],
  ["request.useragent", `%REQ(USER-AGENT):${longest}%`],
  ["request.protocol", "%PROTOCOL%"],
  ["response.code", "%RESPONSE_CODE%"],
  ["response.code_details", "%RESPONSE_CODE_DETAILS%"],
  ["connection.requested_server_name", `%REQUESTED_SERVER_NAME%`],
  ["destination.port", "%DOWNSTREAM_LOCAL_PORT%"],
]);

/**
 * The expression of a tag as part of a log line. Envoy has CEL in log lines too, but refuses the whole listener for an
 * expression that it cannot compile, and Istio's own attributes are unknown to it.
 */
export function tagFormat(expression: string): string | undefined {
  const text = expression.trim();
  const literal = /^(?:'([^'\\\p{Cc}]*)'|"([^"\\\p{Cc}]*)")$/u.exec(text);
  if (literal) return (literal[1] ?? literal[2] ?? "").replaceAll("%", "%%");
  const header = /^(request|response)\.headers\[\s*(['"])([0-9A-Za-z_-]+)\2\s*\]$/.exec(text);
  if (header) return `%${header[1] === "request" ? "REQ" : "RESP"}(${header[3]}):${longest}%`;
  return attributes.get(text);
}
