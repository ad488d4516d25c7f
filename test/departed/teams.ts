/** A world in; teams that come into it with a proxy each and go again, and what is kept after them, out. */
import { setTimeout as pause } from "node:timers/promises";
import { envoyTypes, type KubeObject, type Resource, types } from "../../src/model/index.ts";
import type { LiveProxy } from "../incremental/proxies.ts";
import type { Referrer } from "../incremental/references.ts";
import { openStream, type Troubles, type Variant } from "../incremental/stream-client.ts";
import type { Connected, World, WorldOptions } from "../incremental/world.ts";

/** Of a world in which nothing may be left of teams that have gone. */
export const teamsWorld: WorldOptions = {
  quarantine: true,
  tidyTimes: { least: 0, restMs: 20, maxRestMs: 200 },
};

const generations = [1, 2, 3];

/** What one team brings along, edits, and takes away again. */
function teamObjects(i: number, generation: number): readonly KubeObject[] {
  const namespace = `team-${i}`;
  const host = `web.${namespace}.svc.cluster.local`;
  const web = { selector: { matchLabels: { app: "web" } } };
  const istio = (group: string, kind: string, name: string, spec: object): KubeObject => ({
    apiVersion: `${group}.istio.io/${kind === "EnvoyFilter" ? "v1alpha3" : "v1"}`,
    kind,
    metadata: { name, namespace, uid: `${kind} ${i}`, generation },
    spec,
  });
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
    istio("networking", "VirtualService", "web", {
      hosts: [host],
      http: [
        { match: [{ sourceLabels: { app: `a${i}` } }], route: [{ destination: { host } }], timeout: `${generation}s` },
      ],
    }),
    {
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name: "web", namespace, uid: `HTTPRoute ${i}`, generation },
      spec: {
        parentRefs: [{ group: "", kind: "Service", name: "web", port: 9000 }],
        rules: [{ timeouts: { request: `${generation}s` }, backendRefs: [{ name: "web", port: 9000 }] }],
      },
    },
    istio("networking", "DestinationRule", "web", {
      host,
      workloadSelector: { matchLabels: { app: "web" } },
      subsets: [{ name: `v${generation}` }],
    }),
    istio("networking", "Sidecar", "own", {
      workloadSelector: { labels: { app: "web" } },
      egress: [{ hosts: ["./*"] }],
    }),
    istio("networking", "EnvoyFilter", "broken", {
      configPatches: [
        { applyTo: "CLUSTER", patch: { operation: "MERGE", value: { no_such_field: i } } },
        { applyTo: "CLUSTER", patch: { operation: "MERGE", value: { connect_timeout: `${generation}s` } } },
      ],
    }),
    istio("security", "AuthorizationPolicy", "web", web),
    istio("security", "PeerAuthentication", "web", { ...web, mtls: { mode: generation > 1 ? "STRICT" : "DISABLE" } }),
    istio("telemetry", "Telemetry", "web", { ...web, accessLogging: [{ disabled: generation > 1 }] }),
  ];
}

/** Stays, and patches teams' clusters; as it is last, their streams refuse them. */
const patch = (generation: number, word: string): KubeObject => ({
  apiVersion: "networking.istio.io/v1alpha3",
  kind: "EnvoyFilter",
  metadata: { name: "teams", namespace: "istio-system", uid: "teams", generation },
  spec: {
    workloadSelector: { labels: { is: "team" } },
    configPatches: [{ applyTo: "CLUSTER", patch: { operation: "MERGE", value: { alt_stat_name: word } } }],
  },
});
const [welcome, unwelcome] = ["welcome", "never seen"];
const refusing: Troubles = {
  isLost: () => false,
  refuses: (type, _name, bytes) => type === types.cluster && Buffer.from(bytes).includes(unwelcome),
};

const proxyIn = (namespace: string, is = "team"): LiveProxy => ({
  name: namespace,
  identity: { trustDomain: "cluster.local", namespace, serviceAccount: "default" },
  node: {
    id: `sidecar~10.0.0.1~web.${namespace}~${namespace}.svc.cluster.local`,
    cluster: "web",
    metadata: {
      NAMESPACE: namespace,
      SERVICE_ACCOUNT: "default",
      LABELS: { app: "web", is },
      INSTANCE_IPS: "10.0.0.1",
    },
    locality: { region: "", zone: "", subZone: "" },
    extensions: new Set(),
    userAgent: "",
  },
});

const ports = [80, 81, 9000];
const clusterOf = (i: number, port = 80): string => `outbound|${port}||web.team-${i}.svc.cluster.local`;

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
  for (const [i, word] of [welcome, unwelcome].entries()) world.change([patch(i + 1, word)], []);
  const stays = await world.connect(proxyIn("stays", "other"));
  const staying = await Promise.all(
    variants.map((variant) => openStream(streams.port, proxyIn("stays", "other"), variant, streams.referrer)),
  );
  /** What came of teams that have gone: whoever remembers one keeps it. */
  const departed: WeakRef<Resource>[] = [];
  read(stays);
  // As a page does, which shows who still has what has gone.
  world.programmed.followReach(() => {});
  /** Resolves when each stream that stays has a team's clusters, or has none of them any longer. */
  const followed = async (i: number, isThere: boolean): Promise<void> => {
    const names = ports.map((port) => clusterOf(i, port));
    for (const one of staying)
      while (names.some((name) => one.held(types.cluster).has(name) !== isThere)) {
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
        const proxy = proxyIn(`team-${i}`);
        world.change(teamObjects(i, 1), []);
        const connected = await world.connect(proxy);
        read(connected);
        await seen();
        await followed(i, true);
        for (const generation of generations.slice(1)) {
          world.change(teamObjects(i, generation), []);
          await seen();
          read(connected);
        }
        if (i % streams.every === 0) await stream(proxy, clusterOf(i));
        for (const [name, resource] of stays.all(types.cluster))
          if (name.includes(`.team-${i}.`)) departed.push(new WeakRef(resource));
        connected.close();
        world.change([], teamObjects(i, 1));
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

  /** They refuse clusters as they are patched last, and take them as they were patched before. */
  async function stream(proxy: LiveProxy, cluster: string): Promise<void> {
    const opened = await Promise.all(
      variants.map((variant) => openStream(streams.port, proxy, variant, streams.referrer, refusing)),
    );
    for (const one of opened) while (!one.held(types.cluster).has(cluster)) await one.changed();
    // They leave when nobody has reason any longer to look at what they refuse.
    do await pause(lookMs);
    while (world.isSearching());
    for (const one of opened) one.close();
    while (world.counts().streams !== staying.length) await pause(lookMs);
    streams.referrer.forget();
  }
}

const [lookMs, quietLooks] = [50, 10];

/** The server learns a moment later that a stream has gone, and which names those that stay have given up. */
async function settledCounts(world: World, streams: number): Promise<Readonly<Record<string, number>>> {
  let counts = world.counts();
  for (let quiet = 0; quiet < quietLooks; quiet++) {
    await pause(lookMs);
    const now = world.counts();
    const isSame = now.entries === counts.entries && now.earlier === counts.earlier;
    if (now.calls !== streams || !isSame) quiet = 0;
    counts = now;
  }
  return { ...counts, labelsOfTeams: labelsOfTeams(await world.metrics()) };
}

/** Label sets that name a team. Others are few, and come when something happens for the first time. */
const labelsOfTeams = (text: string): number => text.split("\n").filter((line) => /team-\d/.test(line)).length;
