/** Which way a chain's traffic goes: Istio's listener classes. */

/** A gateway's listeners look outward but count as clients in telemetry. */
export type Direction = "inbound" | "outbound" | "gateway";
