/** A translated Gateway in; what has to run for it, where it is not one that runs already, out. */
import type { Config, KubeGatewaySpec } from "../../model/index.ts";
import type { GatewayOutcome } from "./gateway.ts";
import { isManaged, serviceAccount, workloadName } from "./gateway-name.ts";

export interface GatewayWorkload {
  /** Of its Deployment and its Service. */
  readonly name: string;
  readonly serviceAccount: string;
  readonly gateway: Config<KubeGatewaySpec>;
  /** Its own, then those of the ListenerSets that it lets in. */
  readonly listeners: readonly { readonly name: string; readonly port: number; readonly protocol: string }[];
}

export function gatewayWorkload({ gateway, listeners }: GatewayOutcome): GatewayWorkload | undefined {
  if (!isManaged(gateway.spec)) return undefined;
  return {
    name: workloadName(gateway),
    serviceAccount: serviceAccount(gateway),
    gateway,
    listeners: listeners.map(({ listener: { name = "", port = 0, protocol = "" } }) => ({ name, port, protocol })),
  };
}
