/** The name of a cluster in; the host, port and subset that it stands for out. */
export interface ClusterName {
  readonly host: string;
  readonly port: string;
  readonly subset: string;
  readonly direction: string;
}

/** Undefined for names that follow no rule, such as `PassthroughCluster`. */
export function parseClusterName(name: string): ClusterName | undefined {
  const [direction = "", port = "", subset = "", host = ""] = name.split("|");
  return host === "" && !direction.startsWith("inbound") ? undefined : { direction, port, subset, host };
}

/** As seen from a host: its subset, or the other host. */
export function clusterWord(name: string, host: string): string {
  const parsed = parseClusterName(name);
  if (!parsed) return name;
  if (parsed.host !== host) return parsed.subset === "" ? parsed.host : `${parsed.host} ${parsed.subset}`;
  return parsed.subset === "" ? "all versions" : parsed.subset;
}
