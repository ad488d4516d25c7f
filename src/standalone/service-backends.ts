/** Services and EndpointSlices in; where one port of a Service is served right now out. */
import type { Collection } from "../collections/index.ts";
import { readList, readNumber, readRecord, readTexts } from "../lib/index.ts";
import { type KubeObject, objectKey, portByNumber } from "../model/index.ts";
import { readService } from "./service-shape.ts";

export interface Backend {
  readonly host: string;
  readonly port: number;
}

export interface ServicePortRef {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

export function serviceBackends(
  services: Collection<KubeObject>,
  slices: Collection<KubeObject>,
  wanted: ServicePortRef,
): () => readonly Backend[] {
  return () => {
    const service = services.get(objectKey(wanted));
    const portName = service && portByNumber(readService(service).ports, wanted.port)?.name;
    if (portName === undefined) return [];
    const own = slices.keys().flatMap((key) => slices.get(key) ?? []);
    return own
      .filter(({ metadata }) => metadata.namespace === wanted.namespace)
      .filter(({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === wanted.name)
      .flatMap((slice) => sliceBackends(slice, portName));
  };
}

function sliceBackends(slice: KubeObject, portName: string): readonly Backend[] {
  const ports = readList(slice.ports).map(readRecord);
  const port = readNumber(ports.find(({ name }) => (name ?? "") === portName)?.port);
  if (port === undefined) return [];
  const ready = readList(slice.endpoints)
    .map(readRecord)
    .filter(({ conditions }) => readRecord(conditions).ready !== false);
  return ready.flatMap(({ addresses }) => readTexts(addresses).map((host) => ({ host, port })));
}
