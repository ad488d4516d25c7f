/**
 * A source of resources and the roots of the mesh in; the same source with one more type for agents out: the roots that
 * their Envoys believe (Istio calls it PCDS). It is the same for all, and encoded once.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { ProxyConfigSchema } from "../../gen/istio/proxy_config_pb.js";
import { createResourceSet, encodedResource, type ResourceSet, types } from "../../model/index.ts";
import type { News, ResourceSource } from "../../xds/index.ts";

export interface TrustBundleSourceOptions {
  /** One PEM for each root. */
  texts(): readonly string[];
  readonly now: () => Date;
}

export interface TrustBundleSource extends ResourceSource {
  /** Looks whether there are other roots now, and tells everybody. */
  refresh(): void;
  /** When they last changed. */
  changedAt(): Date;
}

const name = "trust-bundle";

export function createTrustBundleSource(source: ResourceSource, options: TrustBundleSourceOptions): TrustBundleSource {
  const listeners = new Set<(news?: News) => void>();
  let set = encode(options.texts());
  let changedAt = options.now();
  return {
    connect(node, identity, changed) {
      const session = source.connect(node, identity, changed);
      listeners.add(changed);
      return {
        ready: session.ready,
        all: (type) => (type === types.proxyConfig ? set : session.all(type)),
        get: (type, of) => (type === types.proxyConfig ? set.get(of) : session.get(type, of)),
        forget: (type, of) => session.forget(type, of),
        close() {
          listeners.delete(changed);
          session.close();
        },
      };
    },
    refresh() {
      const fresh = encode(options.texts());
      if (fresh.get(name)?.hash === set.get(name)?.hash) return;
      set = fresh;
      changedAt = options.now();
      const news: News = new Map([[types.proxyConfig, new Set([name])]]);
      for (const tell of listeners) tell(news);
    },
    changedAt: () => changedAt,
  };
}

function encode(texts: readonly string[]): ResourceSet {
  const bytes = toBinary(ProxyConfigSchema, create(ProxyConfigSchema, { caCertificatesPem: [...texts] }));
  return createResourceSet([new Map([[name, encodedResource(name, bytes)]])]);
}
