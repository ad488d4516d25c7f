/** A node in; whether its Envoy can be sent virtual hosts one by one (VHDS over ADS) out. */
import type { ProxyNode } from "../source.ts";

/** Older ones refuse the whole route configuration (envoyproxy/envoy#42812). */
const first = { major: 1, minor: 37 };

/** Istio's own builds follow their own branches, and nobody has tried it there. */
export function takesVirtualHosts({ userAgent, metadata, extensions }: ProxyNode): boolean {
  const [, major, minor] = /^envoy (\d+)\.(\d+)\./.exec(userAgent) ?? [];
  if (major === undefined || minor === undefined) return false;
  if (metadata.ISTIO_PROXY_SHA || extensions.values().some((name) => name.includes("istio"))) return false;
  return Number(major) > first.major || (Number(major) === first.major && Number(minor) >= first.minor);
}
