/** A proxy's class in, what its ProxyConfig says about headers that routes set out. */
import type { ProxyClass } from "../../model/index.ts";
import { proxyConfig } from "../proxy-config.ts";

export const includesAttemptCount = (proxy: ProxyClass): boolean =>
  proxyConfig(proxy).proxyHeaders?.attemptCount?.disabled !== true;

export const appendsForwardedHost = (proxy: ProxyClass): boolean =>
  proxyConfig(proxy).proxyHeaders?.xForwardedHost?.enabled === true;
