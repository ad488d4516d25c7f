/** A world in; teams that come into it with a proxy each and go again, and what is kept after them, out. */
import type { KubeObject } from "../../src/model/index.ts";
import type { LiveProxy } from "../incremental/proxies.ts";
import type { Referrer } from "../incremental/references.ts";
import { openStream, type Variant } from "../incremental/stream-client.ts";
import { type Connected, envoyTypes, type World } from "../incremental/world.ts";

const istio = (group: string, kind: string, name: string, namespace: string, spec: object): KubeObject => ({
  apiVersion: `${group}.istio.io/${kind === "EnvoyFilter" ? "v1alpha3" : "v1"}`,
  kind,
  metadata: { name, namespace, generation: 1 },
  spec,
});

/** What one team brings along, and takes away again. */
function teamObjects(i: number): readonly KubeObject[] {
  const namespace = `team-${i}`;
  const host = `web.${namespace}.svc.cluster.local`;
  const web = { selector: { matchLabels: { app: "web" } } };
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "web", namespace },
      spec: {
        clusterIP: `10.${96 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`,
        ports: [
          { name: "http", port: 80 },
          { name: "tcp", port: 81 },
        ],
      },
    },
    istio("networking", "VirtualService", "web", namespace, {
      hosts: [host],
      http: [{ match: [{ sourceLabels: { app: `a${i}` } }], route: [{ destination: { host } }] }],
    }),
    istio("networking", "DestinationRule", "web", namespace, {
      host,
      workloadSelector: { matchLabels: { app: "web" } },
      subsets: [{ name: "v1" }],
    }),
    istio("networking", "Sidecar", "own", namespace, {
      workloadSelector: { labels: { app: "web" } },
      egress: [{ hosts: ["./*"] }],
    }),
    istio("networking", "EnvoyFilter", "broken", namespace, {
      configPatches: [
        { applyTo: "CLUSTER", patch: { operation: "MERGE", value: { no_such_field: i } } },
        { applyTo: "CLUSTER", patch: { operation: "MERGE", value: { connect_timeout: "3s" } } },
      ],
    }),
    istio("security", "AuthorizationPolicy", "web", namespace, web),
    istio("security", "PeerAuthentication", "web", namespace, { ...web, mtls: { mode: "STRICT" } }),
    istio("telemetry", "Telemetry", "web", namespace, { ...web, accessLogging: [{ disabled: true }] }),
  ];
}

const proxyIn = (namespace: string): LiveProxy => ({
  name: namespace,
  identity: { trustDomain: "cluster.local", namespace, serviceAccount: "default" },
  node: {
    id: `sidecar~10.0.0.1~web.${namespace}~${namespace}.svc.cluster.local`,
    cluster: "web",
    metadata: { NAMESPACE: namespace, SERVICE_ACCOUNT: "default", LABELS: { app: "web" }, INSTANCE_IPS: "10.0.0.1" },
    locality: { region: "", zone: "", subZone: "" },
    extensions: new Set(),
    userAgent: "",
  },
});

const read = (proxy: Connected): void => {
  for (const type of envoyTypes) proxy.all(type);
};

export interface Streams {
  readonly port: number;
  readonly referrer: Referrer;
  /** Every so many teams have streams of each variant, beside the session that all have. */
  readonly every: number;
}

const variants: readonly Variant[] = ["delta", "sotw", "vhds"];

/** A proxy that stays sees every team come and go. */
export async function createTeams(world: World, streams: Streams) {
  const stays = await world.connect(proxyIn("stays"));
  read(stays);
  const seen = async (): Promise<void> => {
    await world.settled();
    read(stays);
    stays.forget();
  };
  return {
    /** Teams `from` to `from + count` come and go, one after the other. */
    async pass(from: number, count: number): Promise<void> {
      for (let i = from; i < from + count; i++) {
        const [objects, proxy] = [teamObjects(i), proxyIn(`team-${i}`)];
        world.change(objects, []);
        const connected = await world.connect(proxy);
        read(connected);
        await seen();
        if (i % streams.every === 0) await stream(proxy);
        connected.close();
        world.change([], objects);
        await seen();
      }
    },
  };

  async function stream(proxy: LiveProxy): Promise<void> {
    const opened = await Promise.all(
      variants.map((variant) => openStream(streams.port, proxy, variant, streams.referrer)),
    );
    await Promise.all(opened.map((one) => one.changed()));
    for (const one of opened) one.close();
    streams.referrer.forget();
  }
}

/** The server learns a moment later that a stream has gone. */
export async function settledCounts(world: World): Promise<Readonly<Record<string, number>>> {
  for (;;) {
    const counts = await world.counts();
    if (counts.calls === 0) return counts;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
