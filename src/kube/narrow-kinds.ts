/**
 * A Kubernetes object in; what a control plane reads of it out. A cluster's Pods, Nodes and slices are most of what it
 * holds, and most of each is of no use to a mesh: kept only as far as it can change an answer, they cost a fraction,
 * and a heartbeat or another edit elsewhere in the object is no change at all.
 *
 * Kinds that are written back whole are not in the table: what was left out would be deleted.
 */
import { sameData } from "../collections/index.ts";
import { isRecord } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";

/** What is kept: all of it, some fields of a record or of each member of a list, or what a function makes of it. */
type Shape = true | Fields | ((value: unknown, owner: Readonly<Record<string, unknown>>) => unknown);
interface Fields {
  readonly [field: string]: Shape;
}

/** Annotations of the mesh itself; `status` is the injector's own note, and long. */
const meshAnnotations: Shape = (value) => {
  if (!isRecord(value)) return undefined;
  const own = Object.entries(value).filter(
    ([key]) => /(^|\.)istio\.io\//.test(key) && key !== "sidecar.istio.io/status",
  );
  return own.length === 0 ? undefined : Object.fromEntries(own);
};

const metadata: Fields = {
  name: true,
  namespace: true,
  uid: true,
  resourceVersion: true,
  creationTimestamp: true,
  deletionTimestamp: true,
  labels: true,
  annotations: meshAnnotations,
};

const container: Fields = {
  name: true,
  restartPolicy: true,
  ports: true,
  // What kind of proxy it is; nobody asks for other programs' arguments.
  args: (value, owner) => (owner.name === "istio-proxy" ? value : undefined),
};

const shapes: ReadonlyMap<string, Fields> = new Map<string, Fields>([
  [
    "Pod",
    {
      metadata: {
        ...metadata,
        generateName: true,
        ownerReferences: { apiVersion: true, kind: true, name: true, controller: true },
      },
      spec: {
        nodeName: true,
        serviceAccountName: true,
        hostname: true,
        subdomain: true,
        hostNetwork: true,
        containers: container,
        initContainers: container,
      },
      status: { phase: true, podIP: true, podIPs: true, hostIP: true, conditions: { type: true, status: true } },
    },
  ],
  ["Node", { metadata, status: { addresses: true, nodeInfo: { kubeletVersion: true } } }],
  [
    "EndpointSlice",
    {
      metadata,
      addressType: true,
      ports: true,
      endpoints: {
        addresses: true,
        conditions: true,
        targetRef: { kind: true, name: true, namespace: true },
        nodeName: true,
        hostname: true,
        zone: true,
        hints: true,
      },
    },
  ],
]);

/** The same object where its kind is not narrowed. */
export function narrowObject(object: KubeObject): KubeObject {
  const shape = shapes.get(object.kind);
  if (!shape) return object;
  const { apiVersion, kind } = object;
  return { apiVersion, kind, metadata: object.metadata, ...keepFields(object, shape) };
}

/** Whether two objects of a narrowed kind say the same, whatever was written elsewhere in them in between. */
export function saysTheSame(a: KubeObject, b: KubeObject): boolean {
  return shapes.has(a.kind) && sameData(withoutVersion(a), withoutVersion(b));
}

function withoutVersion(object: KubeObject): unknown {
  return { ...object, metadata: { ...object.metadata, resourceVersion: "" } };
}

function keep(value: unknown, fields: Fields): unknown {
  if (Array.isArray(value)) return value.map((item) => keep(item, fields));
  return isRecord(value) ? keepFields(value, fields) : undefined;
}

function keepFields(value: Readonly<Record<string, unknown>>, fields: Fields): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [field, shape] of Object.entries(fields)) {
    if (!Object.hasOwn(value, field)) continue;
    const now = keepField(value[field], shape, value);
    if (now !== undefined) kept[field] = now;
  }
  return kept;
}

function keepField(value: unknown, shape: Shape, owner: Readonly<Record<string, unknown>>): unknown {
  if (shape === true) return value;
  return typeof shape === "function" ? shape(value, owner) : keep(value, shape);
}
