/** A line of an access log, Istio's text or JSON, in; what it tells about the request out. */
import { isRecord, parseJson } from "../lib/index.ts";
import type { Address } from "./request.ts";

export interface AccessLogEntry {
  readonly method: string;
  /** As the client sent it. */
  readonly path: string;
  /** `HTTP/1.1`, `HTTP/2`; empty for what is not HTTP. */
  readonly protocol: string;
  readonly status: number;
  readonly flags: readonly string[];
  readonly details: string;
  readonly authority: string;
  readonly forwardedFor: string;
  readonly userAgent: string;
  readonly upstreamHost: string;
  readonly cluster: string;
  /** Where the caller wanted to go. */
  readonly local: Address | undefined;
  readonly remote: Address | undefined;
  readonly sni: string;
  readonly route: string;
}

/** Istio's default fields in their order; `%CONNECTION_TERMINATION_DETAILS%` and what follows are by position. */
const columns = [
  ...["start_time", "request", "response_code", "response_flags", "response_code_details"],
  ...[
    "connection_termination_details",
    "upstream_transport_failure_reason",
    "bytes_received",
    "bytes_sent",
    "duration",
  ],
  ...["upstream_service_time", "x_forwarded_for", "user_agent", "request_id", "authority", "upstream_host"],
  ...["upstream_cluster", "upstream_local_address", "downstream_local_address", "downstream_remote_address"],
  ...["requested_server_name", "route_name"],
];

/** Undefined for what is no such line. */
export function parseAccessLog(line: string): AccessLogEntry | undefined {
  const text = line.trim();
  const fields = text.startsWith("{") ? jsonFields(text) : textFields(text);
  return fields && entryOf(fields);
}

type Fields = ReadonlyMap<string, string>;

function jsonFields(text: string): Fields | undefined {
  try {
    const value = parseJson(text);
    if (!isRecord(value) || !("response_code" in value || "response_flags" in value)) return undefined;
    return new Map(Object.entries(value).map(([name, field]) => [name, plain(field)]));
  } catch {
    return undefined;
  }
}

const plain = (value: unknown): string => (value === null || value === undefined || value === "-" ? "" : String(value));

/** `[time] "GET /path HTTP/1.1" 403 - details …`: quotes keep words together. */
function textFields(text: string): Fields | undefined {
  const words = [...text.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "");
  // Logs that were collected have something before.
  const start = words.findIndex((word) => /^\[\d{4}-\d\d-\d\dT/.test(word));
  const own = words.slice(start);
  if (start < 0 || own.length < columns.length) return undefined;
  const fields = new Map(columns.map((name, i) => [name, plain(own[i])]));
  const [method, path, protocol] = (own[1] ?? "").split(" ");
  return new Map([...fields, ["method", plain(method)], ["path", plain(path)], ["protocol", plain(protocol)]]);
}

function entryOf(fields: Fields): AccessLogEntry {
  const of = (name: string): string => fields.get(name) ?? "";
  return {
    method: of("method"),
    path: of("path"),
    protocol: of("protocol"),
    status: Number(of("response_code")) || 0,
    flags: of("response_flags")
      .split(",")
      .filter((flag) => flag !== ""),
    details: of("response_code_details") || of("connection_termination_details"),
    authority: of("authority"),
    forwardedFor: of("x_forwarded_for"),
    userAgent: of("user_agent"),
    upstreamHost: of("upstream_host"),
    cluster: of("upstream_cluster"),
    local: addressOf(of("downstream_local_address")),
    remote: addressOf(of("downstream_remote_address")),
    sni: of("requested_server_name"),
    route: of("route_name"),
  };
}

function addressOf(text: string): Address | undefined {
  const [, ip, port] = /^\[?([^\]]*)\]?:(\d+)$/.exec(text) ?? [];
  return ip === undefined ? undefined : { ip, port: Number(port) };
}

/** What Envoy means by its flags. */
export const flagMeanings: ReadonlyMap<string, string> = new Map([
  ["UH", "no endpoint of the cluster is healthy"],
  ["UF", "the connection to the endpoint failed"],
  ["UO", "a limit of the connection pool was reached"],
  ["NR", "no route, or no filter chain, fits"],
  ["NC", "the route names a cluster that does not exist"],
  ["URX", "it was tried again as often as allowed"],
  ["UC", "the endpoint closed the connection"],
  ["UR", "the endpoint reset the connection"],
  ["UT", "the endpoint did not answer in time"],
  ["LR", "the proxy itself reset the connection"],
  ["DC", "the client closed the connection"],
  ["DI", "a fault was injected: a delay"],
  ["FI", "a fault was injected: an answer"],
  ["RL", "a rate limit was reached"],
  ["UAEX", "an external authorisation service refused it"],
  ["DPE", "the client did not speak the protocol that was expected"],
  ["UPE", "the endpoint did not speak the protocol that was expected"],
  ["SI", "nothing happened for too long"],
  ["IH", "a header was refused"],
  ["DT", "it took longer than allowed"],
]);
