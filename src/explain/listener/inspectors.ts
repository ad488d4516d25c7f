/** A connection and the listener's filters in; what they find out about it before a filter chain is chosen out. */

import type {
  ListenerFilter,
  ListenerFilterChainMatchPredicate,
} from "../../gen/envoy/config/listener/v3/listener_components_pb.js";
import type { Listener } from "../../gen/envoy/config/listener/v3/listener_pb.js";
import type { Connection } from "../request.ts";
import { typeNameOf } from "../unpack.ts";

export interface Inspected {
  readonly transport: "tls" | "raw_buffer";
  readonly sni: string;
  readonly alpn: readonly string[];
}

export function inspect({ listenerFilters }: Listener, connection: Connection): Inspected {
  const port = connection.destination.port;
  const runs = (type: string): boolean =>
    listenerFilters.some((filter) => isType(filter, type) && !isDisabled(filter.filterDisabled, port));
  const [hello] = connection.tls;
  if (hello && runs("TlsInspector")) return { transport: "tls", sni: hello.sni.toLowerCase(), alpn: hello.alpn };
  const isHttp = connection.payload.kind === "http" && !hello;
  if (!isHttp || !runs("HttpInspector")) return { transport: "raw_buffer", sni: "", alpn: [] };
  const version = connection.payload.kind === "http" ? connection.payload.request.version : "";
  return { transport: "raw_buffer", sni: "", alpn: [version === "HTTP/2" ? "h2c" : "http/1.1"] };
}

const isType = ({ configType }: ListenerFilter, type: string): boolean =>
  configType.case === "typedConfig" && typeNameOf(configType.value).endsWith(`.${type}`);

function isDisabled(predicate: ListenerFilterChainMatchPredicate | undefined, port: number): boolean {
  const rule = predicate?.rule;
  switch (rule?.case) {
    case "anyMatch":
      return rule.value;
    case "destinationPortRange":
      return port >= rule.value.start && port < rule.value.end;
    case "notMatch":
      return !isDisabled(rule.value, port);
    case "orMatch":
      return rule.value.rules.some((one) => isDisabled(one, port));
    case "andMatch":
      return rule.value.rules.every((one) => isDisabled(one, port));
    default:
      return false;
  }
}
