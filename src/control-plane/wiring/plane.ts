/** What every part of a control plane may use; what only some of them need is handed to these beside it. */
import type { Metrics } from "../../ops/index.ts";
import type { DiscoveryOptions } from "../discovery-options.ts";
import type { Api } from "./api.ts";

export interface Plane extends Omit<Api, "close"> {
  readonly options: DiscoveryOptions;
  readonly metrics: Metrics;
  /** Aborted when the control plane stops. */
  readonly signal: AbortSignal;
}
