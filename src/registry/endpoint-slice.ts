/** An EndpointSlice in, the endpoints of its Service out. */
import { readList, readNumber, readRecord, readText, readTexts } from "../lib/index.ts";
import type { Endpoint, Health, KubeObject, Service } from "../model/index.ts";
import type { Pod } from "./pod.ts";
import type { WorkloadFacts } from "./workload.ts";

export interface SliceContext {
  readonly service: Service | undefined;
  pod(key: string): Pod | undefined;
  /** Keys of pods that have the address. */
  podsAt(address: string): readonly string[];
  facts(pod: Pod | undefined): WorkloadFacts;
}

/** Key name of the Service a slice belongs to; slices of multi-cluster services belong to none. */
export function sliceServiceName(object: KubeObject): string | undefined {
  const labels = object.metadata.labels ?? {};
  if (labels["multicluster.kubernetes.io/service-name"] !== undefined) return undefined;
  return labels["kubernetes.io/service-name"] || undefined;
}

export function sliceEndpoints(object: KubeObject, context: SliceContext): readonly Endpoint[] {
  if (readText(object.addressType) === "FQDN") return [];
  const namespace = object.metadata.namespace ?? "default";
  const ports = readList(object.ports).map(readRecord);
  return readList(object.endpoints)
    .map(readRecord)
    .flatMap((entry) => {
      const health = healthOf(readRecord(entry.conditions), context.service);
      return readTexts(entry.addresses).flatMap((address) => {
        const found = podOf(entry, address, namespace, context);
        if (found === "missing") return [];
        const facts = context.facts(found);
        return ports.map((port) => ({
          ...facts,
          addresses: [address],
          port: readNumber(port.port) ?? 0,
          portName: readText(port.name),
          weight: 0,
          health,
        }));
      });
    });
}

/** The pod behind an endpoint. One that is named but unknown is waited for: its identity must not be guessed. */
function podOf(
  entry: Readonly<Record<string, unknown>>,
  address: string,
  namespace: string,
  context: SliceContext,
): Pod | undefined | "missing" {
  const target = readRecord(entry.targetRef);
  if (target.kind === "Pod") {
    return context.pod(`${readText(target.namespace) || namespace}/${readText(target.name)}`) ?? "missing";
  }
  // A slice written by hand: the pod with that address in the same namespace is the best guess.
  return context
    .podsAt(address)
    .map((key) => context.pod(key))
    .find((pod) => pod?.namespace === namespace);
}

/** Conditions that are absent count as true, as the API defines them, and istiod reads `terminating` the same way. */
function healthOf(conditions: Readonly<Record<string, unknown>>, service: Service | undefined): Health {
  const holds = (name: string): boolean => conditions[name] !== false;
  if (holds("ready")) return "healthy";
  if (service === undefined) return "unhealthy";
  if (drains(service) && holds("serving") && holds("terminating")) return "draining";
  return holds("terminating") ? "terminating" : "unhealthy";
}

/** Only services with persistent sessions keep sending to an endpoint that is going away. */
function drains(service: Service): boolean {
  return Boolean(service.labels["istio.io/persistent-session"] || service.labels["istio.io/persistent-session-header"]);
}
