/** Which way a chain's traffic goes: Istio's listener classes. */
import type { ProxyClass } from "../model/index.ts";

/** A gateway's listeners look outward but count as clients in telemetry. */
export type Direction = "inbound" | "outbound" | "gateway";

/** The direction of a chain whose destination is an outbound cluster. */
export const clientDirection = (proxy: ProxyClass): Direction => (proxy.type === "router" ? "gateway" : "outbound");
