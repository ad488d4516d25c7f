/**
 * The client's side of incremental xDS: subscriptions and responses in, requests and what changed out. No I/O; it
 * outlives the stream, so that a new one begins with what is already held.
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { NodeSchema } from "../../gen/envoy/config/core/v3/base_pb.js";
import {
  type DeltaDiscoveryRequest,
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
} from "../../gen/envoy/service/discovery/v3/discovery_pb.js";

export interface ClientResource {
  readonly name: string;
  readonly version: string;
  readonly bytes: Uint8Array;
}

export interface ClientChange {
  readonly typeUrl: string;
  readonly updated: readonly ClientResource[];
  readonly removed: readonly string[];
}

export interface ClientState {
  /** Undefined where this is asked for already. `*` asks for all. */
  subscribe(typeUrl: string, names: readonly string[]): DeltaDiscoveryRequest | undefined;
  unsubscribe(typeUrl: string, names: readonly string[]): DeltaDiscoveryRequest | undefined;
  /** The requests that open a stream: the node in the first, and versions of all that is held. */
  opening(): readonly DeltaDiscoveryRequest[];
  /** Takes a response over, unless `check` objects: then nothing of it is taken and the answer is a NACK. */
  receive(
    response: DeltaDiscoveryResponse,
    check?: (change: ClientChange) => string | undefined,
  ): { readonly answer: DeltaDiscoveryRequest; readonly change: ClientChange | undefined };
  held(typeUrl: string): ReadonlyMap<string, ClientResource>;
}

interface Followed {
  readonly names: Set<string>;
  readonly held: Map<string, ClientResource>;
}

const invalidArgument = 3;

export function createClientState(options: { readonly node: MessageInitShape<typeof NodeSchema> }): ClientState {
  const followed = new Map<string, Followed>();
  const request = (init: MessageInitShape<typeof DeltaDiscoveryRequestSchema>): DeltaDiscoveryRequest =>
    create(DeltaDiscoveryRequestSchema, init);

  return {
    subscribe(typeUrl, names) {
      const known = followed.get(typeUrl) ?? { names: new Set<string>(), held: new Map<string, ClientResource>() };
      followed.set(typeUrl, known);
      const added = names.filter((name) => !known.names.has(name));
      for (const name of added) known.names.add(name);
      return added.length === 0 ? undefined : request({ typeUrl, resourceNamesSubscribe: added });
    },
    unsubscribe(typeUrl, names) {
      const known = followed.get(typeUrl);
      const gone = names.filter((name) => known?.names.delete(name));
      for (const name of gone) known?.held.delete(name);
      return gone.length === 0 ? undefined : request({ typeUrl, resourceNamesUnsubscribe: gone });
    },
    opening() {
      const requests = [...followed].map(([typeUrl, { names, held }]) =>
        request({ typeUrl, resourceNamesSubscribe: [...names], initialResourceVersions: versions(held) }),
      );
      const [first] = requests;
      if (first) first.node = request({ node: options.node }).node;
      return requests;
    },
    receive(response, check) {
      const { typeUrl, nonce } = response;
      const change = changeOf(response);
      const objection = check?.(change);
      if (objection !== undefined)
        return {
          answer: request({
            typeUrl,
            responseNonce: nonce,
            errorDetail: { code: invalidArgument, message: objection },
          }),
          change: undefined,
        };
      const held = followed.get(typeUrl)?.held;
      for (const resource of change.updated) held?.set(resource.name, resource);
      for (const name of change.removed) held?.delete(name);
      return { answer: request({ typeUrl, responseNonce: nonce }), change };
    },
    held: (typeUrl) => followed.get(typeUrl)?.held ?? new Map(),
  };
}

function versions(held: ReadonlyMap<string, ClientResource>): Record<string, string> {
  return Object.fromEntries(held.values().map((resource) => [resource.name, resource.version]));
}

function changeOf(response: DeltaDiscoveryResponse): ClientChange {
  const updated = response.resources.map(({ name, version, resource }) => ({
    name,
    version,
    bytes: resource?.value ?? new Uint8Array(0),
  }));
  return { typeUrl: response.typeUrl, updated, removed: response.removedResources };
}
