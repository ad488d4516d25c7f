/** Names of Istio's clusters, both ways: what a cluster stands for in, its name out, and back. */

export const blackHoleCluster = "BlackHoleCluster";
export const passthroughCluster = "PassthroughCluster";
export const inboundPassthroughCluster = "InboundPassthroughCluster";
/** Takes requests for unknown hosts where the mesh resolves them at request time. */
export const allowAnyDynamicDnsCluster = "AllowAnyDynamicDNSCluster";

export interface OutboundName {
  /** `sni-dnat`: behind an AUTO_PASSTHROUGH gateway, named as the SNI of Istio's mTLS spells it. */
  readonly mode: "outbound" | "sni-dnat";
  readonly port: number;
  readonly subset: string;
  readonly host: string;
}

export interface InboundName {
  readonly mode: "inbound";
  readonly port: number;
}

export function outboundCluster(host: string, port: number, subset = ""): string {
  return `outbound|${port}|${subset}|${host}`;
}

/** Also the SNI that clients of the service send with Istio's mTLS. */
export function sniCluster(host: string, port: number, subset = ""): string {
  return `outbound_.${port}_.${subset}_.${host}`;
}

export function inboundCluster(port: number): string {
  return `inbound|${port}||`;
}

export function parseClusterName(name: string): OutboundName | InboundName | undefined {
  const outbound = /^outbound\|(\d+)\|([^|]*)\|(.+)$/.exec(name);
  if (outbound) return parts("outbound", outbound);
  const sni = /^outbound_\.(\d+)_\.(.*?)_\.(.+)$/.exec(name);
  if (sni) return parts("sni-dnat", sni);
  const inbound = /^inbound\|(\d+)\|\|$/.exec(name);
  return inbound ? { mode: "inbound", port: Number(inbound[1]) } : undefined;
}

function parts(mode: OutboundName["mode"], [, port, subset = "", host = ""]: RegExpExecArray): OutboundName {
  return { mode, port: Number(port), subset, host };
}
