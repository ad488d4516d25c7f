/** A proxy's class in, what its ProxyConfig says about headers that routes set out. */
import type { BuildFacet } from "../../model/index.ts";
import { proxyConfig } from "../proxy/proxy-config.ts";

export const includesAttemptCount = (proxy: BuildFacet): boolean =>
  proxyConfig(proxy).proxyHeaders?.attemptCount?.disabled !== true;

export const appendsForwardedHost = (proxy: BuildFacet): boolean =>
  proxyConfig(proxy).proxyHeaders?.xForwardedHost?.enabled === true;
