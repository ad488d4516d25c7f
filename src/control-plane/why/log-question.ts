/** A line of an access log in; the request that it tells of out, as far as a line tells it. */
import {
  type AccessLogEntry,
  type ClientHello,
  type Departure,
  flagMeanings,
  type Headers,
  type HttpRequest,
  parseAccessLog,
} from "../../explain/index.ts";
import { FairleadError } from "../../lib/index.ts";
import type { ExplainedMesh } from "./explained-mesh.ts";
import type { Asked } from "./resolve.ts";

export interface LoggedQuestion extends Asked {
  /** The line in words. */
  readonly logged: string;
}

/** A line that says who called whom. */
export interface LoggedRequest extends AccessLogEntry {
  readonly remote: NonNullable<AccessLogEntry["remote"]>;
  readonly local: NonNullable<AccessLogEntry["local"]>;
}

export function readLogLine(line: string): LoggedRequest {
  const entry = parseAccessLog(line);
  if (!entry)
    throw new FairleadError("invalid", "this is no line of an access log", {
      hint: "Istio's default text line and its JSON are known; quote the line as one argument",
    });
  const { remote, local } = entry;
  if (!remote || !local)
    throw new FairleadError("invalid", "the line does not say who called whom", {
      hint: "it needs the downstream local and remote addresses",
    });
  return { ...entry, remote, local };
}

export function resolveLog(entry: LoggedRequest, headers: Headers, explained: ExplainedMesh): LoggedQuestion {
  const { remote, local } = entry;
  const inbound = entry.cluster.startsWith("inbound|") || entry.cluster === "InboundPassthroughCluster";
  const [caller, server] = [explained.world.proxyAt(remote.ip), explained.world.proxyAt(local.ip)];
  const payload = payloadOf(entry, headers);
  const base = {
    text: textOf(entry),
    logged: loggedText(entry),
    assumptions: headers.length > 0 ? [] : ["headers and tokens are not in the line; name them with -H and --jwt"],
  };
  const departure = (
    proxy: Departure["proxy"] | undefined,
    side: Departure["side"],
    tls: readonly ClientHello[],
  ): LoggedQuestion => {
    if (!proxy)
      throw new FairleadError("not-found", `no Pod with a proxy is at ${side === "outbound" ? remote.ip : local.ip}`, {
        hint: "Pods may have come and gone since: look at the objects of that time with -f",
      });
    return { ...base, departure: { proxy, side, connection: { source: remote, destination: local, tls, payload } } };
  };
  // The line of a gateway: nobody of the mesh stands on the client's side.
  if (server?.kind === "gateway")
    return departure(server, "gateway", entry.sni === "" ? [] : [hello(entry, undefined)]);
  if (inbound || (server && !caller)) return departure(server, "inbound", meshTls(entry, caller?.identity));
  return departure(caller, "outbound", entry.sni === "" ? [] : [hello(entry, undefined)]);
}

const hello = ({ sni, protocol }: AccessLogEntry, peer: string | undefined): ClientHello => ({
  sni,
  alpn: protocol === "HTTP/2" ? ["h2"] : ["http/1.1"],
  peer,
});

/** The mesh's own names of servers tell mTLS. */
function meshTls({ sni, protocol }: AccessLogEntry, peer: string | undefined): readonly ClientHello[] {
  if (!sni.startsWith("outbound_")) return sni === "" ? [] : [{ sni, alpn: [], peer: undefined }];
  const alpn =
    protocol === ""
      ? ["istio-peer-exchange", "istio"]
      : protocol === "HTTP/2"
        ? ["istio-h2", "istio", "h2"]
        : ["istio-http/1.1", "istio", "http/1.1"];
  return [{ sni, alpn, peer }];
}

function payloadOf(entry: AccessLogEntry, more: Headers): Departure["connection"]["payload"] {
  if (entry.protocol === "") return { kind: "bytes" };
  const request: HttpRequest = {
    method: entry.method,
    path: entry.path,
    authority: entry.authority,
    headers: [
      ...(entry.forwardedFor === "" ? [] : [["x-forwarded-for", entry.forwardedFor] as const]),
      ...(entry.userAgent === "" ? [] : [["user-agent", entry.userAgent] as const]),
      ...more,
    ],
    version: entry.protocol === "HTTP/2" ? "HTTP/2" : "HTTP/1.1",
  };
  return { kind: "http", request };
}

const textOf = ({ method, path, authority, protocol, remote, local }: LoggedRequest): string =>
  `${protocol === "" ? "bytes" : `${method} ${authority}${path}`} from ${remote.ip} to ${local.ip}:${local.port}`;

function loggedText({ status, flags, details }: AccessLogEntry): string {
  const meanings = flags.map((flag) => `${flag}: ${flagMeanings.get(flag) ?? "not known"}`);
  const code = status === 0 ? "no status" : String(status);
  return [[code, flags.join(","), details].filter((word) => word !== "").join(" "), ...meanings].join("; ");
}
