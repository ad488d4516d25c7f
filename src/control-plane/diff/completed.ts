/**
 * Objects as people keep them in files in; what a cluster would have added out: addresses of Services, Pods of workloads,
 * EndpointSlices. Only what is missing is made up.
 */
import { isRecord, readList, readRecord, readText, readTextMap } from "../../lib/index.ts";
import { type KubeObject, matchesLabels, objectKey, objectName } from "../../model/index.ts";
import { standIns } from "./stand-ins.ts";

/** By `Kind/namespace/name`, the number that an object's made-up address has: the same in states that are compared. */
export type Numbers = ReadonlyMap<string, number>;

export const numbersOf = (objects: readonly KubeObject[]): Numbers =>
  new Map(objects.map(({ kind, metadata }, i) => [objectName(kind, metadata), i]));

export interface Completed {
  readonly objects: readonly KubeObject[];
  readonly notes: readonly string[];
}

export function completed(objects: readonly KubeObject[], numbers?: Numbers): Completed {
  return complete(objects, numbers, standIns);
}

/** Of a mesh that runs: its proxies are those that there are, and none is made up. */
export function completedLive(objects: readonly KubeObject[], numbers?: Numbers): Completed {
  return complete(objects, numbers, () => new Map());
}

function complete(objects: readonly KubeObject[], numbers: Numbers | undefined, podsFor: typeof standIns): Completed {
  const numberOf =
    numbers && (({ kind, metadata }: KubeObject): number => numbers.get(objectName(kind, metadata)) ?? 0);
  const pods = podsFor(objects, numberOf);
  const notes = [...pods].map(
    ([{ kind }, { metadata }]) =>
      `no Pod is among the files; ${metadata.name}.${metadata.namespace} stands for its ${kind}`,
  );
  const all = [...objects, ...pods.values()];
  const addressed = all.map((object, i) => withAddress(object, numberOf?.(object) ?? i));
  const served = new Set(
    all
      .filter(({ kind }) => kind === "EndpointSlice")
      .map(({ metadata }) => `${metadata.namespace}/${metadata.labels?.["kubernetes.io/service-name"]}`),
  );
  const slices = addressed
    .filter((object) => isService(object) && !served.has(objectKey(object.metadata)))
    .flatMap((service) => sliceOf(service, all));
  const rest = notes.length - maxNotes;
  const told = rest > 1 ? [...notes.slice(0, maxNotes), `${rest} more Pods stand for theirs likewise`] : notes;
  return { objects: [...addressed, ...slices], notes: told };
}

/** Of what was made up; more of the same tell nothing. */
const maxNotes = 5;

const isService = ({ kind, apiVersion }: KubeObject): boolean => kind === "Service" && apiVersion === "v1";

/** Of the range for documentation of cluster addresses in Kubernetes' own examples. */
function withAddress(object: KubeObject, n: number): KubeObject {
  const spec = readRecord(object.spec);
  if (!isService(object) || spec.clusterIP !== undefined || spec.type === "ExternalName") return object;
  return { ...object, spec: { ...spec, clusterIP: `10.97.${Math.floor(n / 250) % 250}.${(n % 250) + 1}` } };
}

function sliceOf({ metadata, spec }: KubeObject, objects: readonly KubeObject[]): readonly KubeObject[] {
  const { selector, ports } = readRecord(spec);
  const wanted = readTextMap(selector);
  if (Object.keys(wanted).length === 0) return [];
  const inNamespace = objects.filter((object) => object.metadata.namespace === metadata.namespace);
  const pods = inNamespace.filter(
    ({ kind, metadata: own }) => kind === "Pod" && matchesLabels(wanted, own.labels ?? {}),
  );
  const endpoints = pods.flatMap(({ metadata: { name, namespace }, status }) => {
    const address = readText(readRecord(status).podIP);
    return address === ""
      ? []
      : [
          {
            addresses: [address],
            conditions: { ready: true, serving: true },
            targetRef: { kind: "Pod", name, namespace },
          },
        ];
  });
  if (endpoints.length === 0) return [];
  const numbered = readList(ports)
    .filter(isRecord)
    .map((port) => ({
      name: readText(port.name),
      port: targetPort(port, inNamespace),
      protocol: readText(port.protocol) || "TCP",
    }));
  return [
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: {
        name: `${metadata.name}-made-up`,
        ...(metadata.namespace ? { namespace: metadata.namespace } : {}),
        labels: { "kubernetes.io/service-name": metadata.name },
      },
      addressType: "IPv4",
      ports: numbered,
      endpoints,
    },
  ];
}

/** A named one is found among the containers of the namespace. */
function targetPort(port: Readonly<Record<string, unknown>>, objects: readonly KubeObject[]): number {
  const { targetPort: wanted = port.port } = port;
  if (typeof wanted === "number") return wanted;
  const specs = objects.flatMap(({ kind, spec }) =>
    kind === "Pod" ? [readRecord(spec)] : [readRecord(readRecord(readRecord(spec).template).spec)],
  );
  const found = specs
    .flatMap(({ containers }) => readList(containers))
    .flatMap((container) => readList(readRecord(container).ports))
    .find((one) => readRecord(one).name === wanted);
  return Number(readRecord(found).containerPort ?? port.port ?? 0);
}
