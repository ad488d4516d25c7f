/** Envoy's configuration as plain JSON data, and the few shapes that recur in it. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export function typed(type: string, fields: JsonObject = {}): JsonObject {
  return { "@type": `type.googleapis.com/${type}`, ...fields };
}

/** `HOST:PORT` as an Envoy socket address; brackets around an IPv6 host are taken off. */
export function socketAddress(address: string, hostIp = ""): JsonObject | undefined {
  const at = address.lastIndexOf(":");
  const port = Number(address.slice(at + 1));
  if (at < 0 || !Number.isInteger(port) || port < 0 || port > 65_535) return undefined;
  const host = address.slice(0, at).replace(/^\[(.*)\]$/, "$1");
  // Tracer addresses may name the node; Kubernetes fills that in for arguments, not for files.
  return { address: host === "$(HOST_IP)" && hostIp !== "" ? hostIp : host, port_value: port };
}

/** The fields that are there. */
export function defined(fields: Readonly<Record<string, Json | undefined>>): JsonObject {
  const out: Record<string, Json> = {};
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) out[name] = value;
  return out;
}
