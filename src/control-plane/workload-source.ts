/**
 * A source of Envoys' resources and the registry in; the same source with one more type for their agents out: the
 * workload at an address. An agent asks for the addresses that its Envoy has talked with, so a change of a workload is
 * told to its peers alone; who asks makes no difference to the answer, so it is encoded once for all of them.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import type { Graph } from "../collections/index.ts";
import { type Workload, WorkloadSchema } from "../gen/fairlead/workload_pb.js";
import { createDebounce } from "../lib/index.ts";
import { canonicalName, canonicalRevision, encodedResource, type Resource, types } from "../model/index.ts";
import type { Registry, WorkloadFacts } from "../registry/index.ts";
import type { News, ResourceSource } from "../xds/index.ts";

export interface WorkloadSourceOptions {
  readonly graph: Graph;
  readonly registry: Pick<Registry, "workloadAt">;
  readonly debounceMs: number;
  readonly debounceMaxMs: number;
}

interface Asker {
  readonly addresses: Set<string>;
  readonly changed: (news?: News) => void;
}

/** More than any agent keeps; a client that asks for more is told that there is nothing. */
const maxAddresses = 16_384;
const longestAddress = 64;

export function createWorkloadSource(
  source: ResourceSource,
  options: WorkloadSourceOptions,
): ResourceSource & { close(): void } {
  const { graph, registry } = options;
  const askers = new Map<string, Set<Asker>>();
  const due = new Set<string>();
  const debounce = createDebounce({ quietMs: options.debounceMs, maxMs: options.debounceMaxMs, run: tell });
  const resources = graph.memo<Resource | undefined>(
    "workload at",
    (address) => {
      const facts = registry.workloadAt(address);
      return facts && encode(address, facts);
    },
    {
      equals: (a, b) => a?.hash === b?.hash,
      onInvalidate(address) {
        due.add(address);
        debounce.signal();
      },
    },
  );

  /** Who asked for a changed address is forgotten here, and noted again by asking for it again. */
  function tell(): void {
    const concerned = new Map<Asker, Set<string>>();
    for (const address of due)
      for (const asker of askers.get(address) ?? [])
        concerned.set(asker, (concerned.get(asker) ?? new Set()).add(address));
    due.clear();
    for (const [asker, addresses] of concerned) {
      forget(asker, addresses);
      asker.changed(new Map([[types.workload, addresses]]));
    }
  }

  function forget(asker: Asker, addresses: Iterable<string>): void {
    for (const address of addresses) {
      asker.addresses.delete(address);
      const others = askers.get(address);
      others?.delete(asker);
      if (others?.size !== 0) continue;
      askers.delete(address);
      resources.drop(address);
    }
  }

  function ask(asker: Asker, address: string): Resource | undefined {
    if (address.length > longestAddress) return undefined;
    if (!asker.addresses.has(address)) {
      if (asker.addresses.size >= maxAddresses) return undefined;
      asker.addresses.add(address);
      const all = askers.get(address) ?? new Set();
      askers.set(address, all.add(asker));
    }
    return resources.get(address);
  }

  return {
    connect(node, identity, changed) {
      const session = source.connect(node, identity, changed);
      const asker: Asker = { addresses: new Set(), changed };
      return {
        ready: session.ready,
        all: (type) => session.all(type),
        get: (type, name) => (type === types.workload ? ask(asker, name) : session.get(type, name)),
        forget(type, name) {
          if (type !== types.workload) session.forget(type, name);
          else forget(asker, name === undefined ? asker.addresses : [name]);
        },
        close() {
          forget(asker, asker.addresses);
          session.close();
        },
      };
    },
    close: () => debounce.stop(),
  };
}

function encode(address: string, facts: WorkloadFacts): Resource {
  return encodedResource(address, toBinary(WorkloadSchema, workloadOf(facts)));
}

function workloadOf({ workload, namespace, identity, cluster, labels }: WorkloadFacts): Workload {
  return create(WorkloadSchema, {
    name: workload,
    namespace,
    identity,
    cluster,
    canonicalService: canonicalName(labels, workload),
    canonicalRevision: canonicalRevision(labels),
    app: labels.app ?? "",
    version: labels.version ?? "",
  });
}
