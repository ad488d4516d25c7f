/** Flags, and the Pods of istiod that were found, in; ways to ask each of them out. */
import type { ClusterAccess } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { debugAt, debugOfPod } from "../pod-debug.ts";
import type { ProtoJson } from "../proxy-config/proto-json.ts";
import { createDebugIstiod } from "./debug-istiod.ts";
import type { Istiod } from "./istiod.ts";
import type { IstiodSettings } from "./istiod-pods.ts";
import { createXdsIstiod } from "./xds-istiod.ts";

export interface OpenOptions {
  readonly access: ClusterAccess;
  readonly settings: IstiodSettings;
  readonly flags: { readonly xds?: string; readonly address?: string; readonly istioNamespace: string };
  readonly protos: ProtoJson;
  readonly signal: AbortSignal;
}

export function openIstiods({ access, settings, flags, protos, signal }: OpenOptions): readonly Istiod[] {
  const { xds, address } = flags;
  if (xds !== undefined && address !== undefined)
    throw new FairleadError("usage", "--xds and --address exclude each other", { hint: "--xds asks as each proxy" });
  if (xds !== undefined) return [createXdsIstiod(xds, protos, signal)];
  const close = (): void => {};
  if (address !== undefined) {
    return [createDebugIstiod({ at: address, ask: debugAt(address, signal), protos, close })];
  }
  if (settings.pods.length === 0)
    throw new FairleadError("not-found", `no istiod runs in namespace ${flags.istioNamespace}`, {
      hint: "a Pod with label app=istiod is looked for; -i names another namespace, --xds or --address an istiod elsewhere",
    });
  return settings.pods.map((pod) => {
    const at = `${pod.namespace}/${pod.name}`;
    return createDebugIstiod({ at, ask: debugOfPod(access, pod, signal), protos, close });
  });
}
