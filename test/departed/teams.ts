/** A world in; teams that come into it with a proxy each and go again, and what is kept after them, out. */
import { envoyTypes, type KubeObject, type Resource, types } from "../../src/model/index.ts";
import type { LiveProxy } from "../incremental/proxies.ts";
import type { Referrer } from "../incremental/references.ts";
import { openStream, type Variant } from "../incremental/stream-client.ts";
import type { Connected, World } from "../incremental/world.ts";

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
          // Has a route of its own, by host and port, which Envoys ask for by name until their listeners have gone.
          { port: 9000 },
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

/** A proxy that stays, and streams of it of each variant, see every team come and go. */
export async function createTeams(world: World, streams: Streams) {
  const stays = await world.connect(proxyIn("stays"));
  const staying = await Promise.all(
    variants.map((variant) => openStream(streams.port, proxyIn("stays"), variant, streams.referrer)),
  );
  /** What came of teams that have gone: whoever remembers one keeps it. */
  const departed: WeakRef<Resource>[] = [];
  read(stays);
  /** Resolves when each stream that stays has a team's cluster, or has it no longer. */
  const followed = async (i: number, isThere: boolean): Promise<void> => {
    const name = `outbound|80||web.team-${i}.svc.cluster.local`;
    for (const one of staying)
      while (one.held(types.cluster).has(name) !== isThere) {
        if (one.ended() !== undefined) throw new Error(`a stream that stays has ended: ${one.ended()}`);
        await one.changed();
      }
  };
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
        await followed(i, true);
        if (i % streams.every === 0) await stream(proxy);
        for (const [name, resource] of stays.all(types.cluster))
          if (name.includes(`.team-${i}.`)) departed.push(new WeakRef(resource));
        connected.close();
        world.change([], objects);
        await seen();
      }
      // A cluster goes some seconds after its routes: once for all of them.
      for (let i = from; i < from + count; i++) await followed(i, false);
    },
    /** How many resources of teams that have gone somebody keeps; needs a garbage collector that can be called. */
    async remembered(): Promise<number> {
      await settledCounts(world, staying.length);
      // Targets of WeakRefs live on until the turn is over.
      for (let pass = 0; pass < 3; pass++) {
        await new Promise((resolve) => setImmediate(resolve));
        globalThis.gc?.();
      }
      return departed.filter((one) => one.deref()).length;
    },
    counts: () => settledCounts(world, staying.length),
    close() {
      for (const one of staying) one.close();
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

const [lookMs, quietLooks] = [50, 10];

/** The server learns a moment later that a stream has gone, and which names those that stay have given up. */
async function settledCounts(world: World, streams: number): Promise<Readonly<Record<string, number>>> {
  let counts = world.counts();
  for (let quiet = 0; quiet < quietLooks; quiet++) {
    await new Promise((resolve) => setTimeout(resolve, lookMs));
    const now = world.counts();
    if (now.calls !== streams || now.entries !== counts.entries) quiet = 0;
    counts = now;
  }
  return { ...counts, labelsOfTeams: labelsOfTeams(await world.metrics()) };
}

/** Label sets that name a team. Others are few, and come when something happens for the first time. */
const labelsOfTeams = (text: string): number => text.split("\n").filter((line) => /team-\d/.test(line)).length;
