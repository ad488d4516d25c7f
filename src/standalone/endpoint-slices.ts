/** Services with a selector, and Pods, in; one EndpointSlice per Service (and set of port numbers) out. */
import { FairleadError, isRecord } from "../lib/index.ts";
import { type KubeObject, objectKey } from "../model/index.ts";
import { type ControllerContext, follow } from "./controller.ts";
import { endpointSlices, pods, services } from "./kinds.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";
import {
  type PodShape,
  readPodShape,
  readService,
  type ServicePortShape,
  type ServiceShape,
  selects,
} from "./service-shape.ts";

const managedBy = "endpointslice.kubernetes.io/managed-by";
const serviceName = "kubernetes.io/service-name";
/** Only slices with this label are touched; others belong to their users. */
const ourName = "endpointslice-controller.fairlead.dev";

export function runEndpointSlices(context: ControllerContext): Reconciler {
  const { client, objects } = context;
  const [allServices, allPods, allSlices] = [objects(services), objects(pods), objects(endpointSlices)];

  const reconcile = async (key: string): Promise<void> => {
    const service = allServices.get(key);
    const wanted = service ? slicesFor(service, matchingPods(allPods, service)) : [];
    const namespace = key.slice(0, key.indexOf("/"));
    const owned = allSlices
      .keys()
      .flatMap((sliceKey) => allSlices.get(sliceKey) ?? [])
      .filter(
        (slice) =>
          isOurs(slice) &&
          objectKey({ namespace: slice.metadata.namespace, name: slice.metadata.labels?.[serviceName] ?? "" }) === key,
      );
    for (const slice of wanted) {
      const existing = owned.find((other) => other.metadata.name === slice.metadata.name);
      if (existing && sameContent(existing, slice)) continue;
      if (!existing) await client.create(endpointSlices, slice);
      else
        await client.update(endpointSlices, {
          ...slice,
          metadata: { ...slice.metadata, resourceVersion: existing.metadata.resourceVersion ?? "" },
        });
    }
    for (const slice of owned) {
      if (wanted.some((other) => other.metadata.name === slice.metadata.name)) continue;
      await client.delete(endpointSlices, { namespace, name: slice.metadata.name }).catch(ignoreMissing);
    }
  };

  const reconciler = createReconciler({ name: "endpointslices", reconcile, ...context });
  follow(allServices, (key) => reconciler.add(key));
  follow(allPods, (_key, now, before) => {
    const namespace = (now ?? before)?.metadata.namespace;
    for (const serviceKey of allServices.keys()) {
      const service = allServices.get(serviceKey);
      if (!service || service.metadata.namespace !== namespace) continue;
      const { selector } = readService(service);
      if (selector && [now, before].some((pod) => pod && selects(selector, pod.metadata.labels)))
        reconciler.add(serviceKey);
    }
  });
  follow(allSlices, (_key, now, before) => {
    const slice = now ?? before;
    if (slice && isOurs(slice))
      reconciler.add(
        objectKey({ namespace: slice.metadata.namespace, name: slice.metadata.labels?.[serviceName] ?? "" }),
      );
  });
  return reconciler;
}

function isOurs(slice: KubeObject): boolean {
  return slice.metadata.labels?.[managedBy] === ourName;
}

function matchingPods(
  all: { keys(): readonly string[]; get(key: string): KubeObject | undefined },
  service: KubeObject,
): readonly KubeObject[] {
  const { selector } = readService(service);
  if (!selector) return [];
  return all
    .keys()
    .flatMap((key) => all.get(key) ?? [])
    .filter((pod) => pod.metadata.namespace === service.metadata.namespace && selects(selector, pod.metadata.labels));
}

/** Pods whose named target ports resolve to the same numbers share a slice; none while no Pod matches. */
function slicesFor(service: KubeObject, matching: readonly KubeObject[]): readonly KubeObject[] {
  const shape = readService(service);
  if (shape.type === "ExternalName") return [];
  const groups = new Map<string, { ports: readonly object[]; endpoints: object[] }>();
  for (const pod of matching) {
    const podShape = readPodShape(pod);
    if (podShape.address === "" || podShape.ended) continue;
    const ports = shape.ports.flatMap((port) => slicePort(port, podShape));
    const id = JSON.stringify(ports);
    const group = groups.get(id) ?? { ports, endpoints: [] };
    groups.set(id, group);
    group.endpoints.push(endpointOf(pod, podShape, shape));
  }
  return [...groups.values()].map((group, i) => sliceObject(service, group, i));
}

function slicePort(port: ServicePortShape, pod: PodShape): readonly object[] {
  const number = typeof port.targetPort === "number" ? port.targetPort : pod.ports.get(port.targetPort);
  if (number === undefined || Number.isNaN(number)) return [];
  return [
    {
      name: port.name,
      port: number,
      protocol: port.protocol,
      ...(port.appProtocol === undefined ? {} : { appProtocol: port.appProtocol }),
    },
  ];
}

function endpointOf(pod: KubeObject, shape: PodShape, service: ServiceShape): object {
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  return {
    addresses: [shape.address],
    conditions: { ready: service.publishNotReady || (shape.ready && !terminating), serving: shape.ready, terminating },
    targetRef: { kind: "Pod", name: pod.metadata.name, namespace: pod.metadata.namespace, uid: pod.metadata.uid },
    ...(shape.node === "" ? {} : { nodeName: shape.node }),
    ...(shape.hostname !== "" && shape.subdomain === ""
      ? {}
      : shape.hostname === ""
        ? {}
        : { hostname: shape.hostname }),
  };
}

function sliceObject(
  service: KubeObject,
  group: { ports: readonly object[]; endpoints: readonly object[] },
  i: number,
): KubeObject {
  const { name, namespace = "default", uid = "" } = service.metadata;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: i === 0 ? `${name}-fairlead` : `${name}-fairlead-${i}`,
      namespace,
      labels: { [serviceName]: name, [managedBy]: ourName },
      ownerReferences: [{ apiVersion: "v1", kind: "Service", name, uid, controller: true }],
    },
    addressType: "IPv4",
    ports: group.ports,
    endpoints: group.endpoints,
  };
}

function sameContent(a: KubeObject, b: KubeObject): boolean {
  const content = (slice: KubeObject): string => stable([slice.ports, slice.endpoints, slice.addressType]);
  return content(a) === content(b);
}

/** JSON with sorted keys, so that the order in which fields were written does not count. */
function stable(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}

export function ignoreMissing(error: unknown): void {
  if (!(error instanceof FairleadError) || error.code !== "not-found") throw error;
}
