/** A proxy and a version in; whether the proxy is at least that new out. */
import type { BuildFacet } from "../../model/index.ts";

/** A proxy that does not tell its version counts as new. */
export function versionAtLeast(proxy: BuildFacet, major: number, minor: number): boolean {
  const match = /^(\d+)\.(\d+)/.exec(proxy.istioVersion);
  if (!match) return true;
  const [own, ownMinor] = [Number(match[1]), Number(match[2])];
  return own > major || (own === major && ownMinor >= minor);
}
