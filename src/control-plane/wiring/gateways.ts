/** Gateway API objects of our revision in; what has to run for them, and what their statuses should say, out. */
import type { Collection } from "../../collections/index.ts";
import type { InjectionSources } from "../../inject/index.ts";
import type { KubeObject } from "../../model/index.ts";
import type { ObjectStatus } from "../../translate/index.ts";
import { createGatewayObjects } from "../gateway-objects.ts";
import { gatewayKinds } from "../leader-work.ts";
import { createOwnRevision, ownStatuses } from "../own-revision.ts";
import type { Stages } from "../stages.ts";
import type { Plane } from "./plane.ts";

export interface Gateways {
  readonly gatewayObjects: Collection<KubeObject>;
  readonly gatewayStatuses: Collection<ObjectStatus>;
}

export function createGateways(
  { options, graph, watched }: Plane,
  { stages, injection }: { readonly stages: Stages; readonly injection: InjectionSources },
): Gateways {
  const isOwn = createOwnRevision({
    graph,
    revision: options.revision,
    namespaces: watched.objects("", "Namespace"),
    mutating: watched.objects("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    validating: watched.objects("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
  });
  const gatewayStatuses = ownStatuses(
    graph,
    stages.statuses,
    new Map(gatewayKinds.map(([group, kind]) => [kind, watched.objects(group, kind)])),
    isOwn,
  );
  const gatewayObjects = createGatewayObjects({
    ...{ graph, isOwn, injection, namespace: options.namespace },
    workloads: stages.gatewayWorkloads,
    gateways: watched.objects("gateway.networking.k8s.io", "Gateway"),
    configMaps: watched.objects("", "ConfigMap"),
    log: options.log.scope("gateway"),
  });
  return { gatewayObjects, gatewayStatuses };
}
