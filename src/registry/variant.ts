/** Intermediate nouns of the registry: what a service is made from before its sources are put together. */
import type { Endpoint, Service } from "../model/index.ts";

/** Where a Service port leads on a pod: a number, or the name of a container port. */
export interface TargetPort {
  readonly portName: string;
  readonly transport: string;
  readonly target: number | string;
}

/** One source of a service: a Service object, or one host of a ServiceEntry. */
export interface ServiceVariant {
  readonly service: Service;
  readonly targets: readonly TargetPort[];
}

/** An EndpointSlice with the key of its service. */
export interface Slice {
  readonly service: string;
  readonly endpoints: readonly Endpoint[];
}
