/** A cluster's name in; direction, port, subset and host, where Istio's naming has them, out. */

export interface ClusterKey {
  readonly direction: string;
  readonly port: number;
  readonly subset: string;
  readonly host: string;
}

/** `direction|port|subset|host`, or with `_.` between in the form for SNI. Undefined for any other name. */
export function parseClusterKey(name: string): ClusterKey | undefined {
  if (name.split("|").length < 4) return undefined;
  const separator = /^(?:outbound|inbound)_\./.test(name) ? "_." : "|";
  const [direction = "", port = "", subset = "", ...host] = name.split(separator);
  return {
    direction,
    port: /^[-+]?\d+$/.test(port) ? Number(port) : 0,
    subset,
    host: host.length === 1 ? (host[0] ?? "") : "",
  };
}

/** Sort keys: host, then subset, port and direction; any other name stands where a host of that name would. */
export const clusterOrder: readonly ((name: string) => string | number)[] = [
  (name) => parseClusterKey(name)?.host ?? name,
  (name) => parseClusterKey(name)?.subset ?? "",
  (name) => parseClusterKey(name)?.port ?? 0,
  (name) => parseClusterKey(name)?.direction ?? "",
];
