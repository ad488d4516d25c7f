/** A mesh under traffic in; its control plane changed for another one, in place or by revision, out, with what that cost. */
import { kubeKinds } from "../../src/kube/index.ts";
import { readRecord, wait } from "../../src/lib/index.ts";
import type { KubeObject } from "../../src/model/index.ts";
import { istio } from "../render/objects.ts";
import { eventually } from "../traffic/mesh.ts";
import type { Fleet } from "./fleet.ts";
import { put } from "./objects.ts";
import type { Plane, PlaneProgram } from "./plane.ts";
import type { TrafficReport } from "./traffic.ts";
import type { SwapWorld } from "./world.ts";

export interface SwapReport extends TrafficReport {
  /** The one that serves now. */
  readonly plane: Plane;
  /** Whether every proxy shows the certificate that it had. */
  readonly certificatesKept: boolean;
}

/** Same Service, same Secret: the new one comes up, both are behind the Service for a while, the old one ends. */
export async function swapInPlace(
  world: SwapWorld,
  fleet: Fleet,
  revision: string,
  before: Plane,
  program: PlaneProgram,
): Promise<SwapReport> {
  const certificates = await certificatesOf(fleet);
  const plane = await world.start(program, revision);
  await world.point(revision, before, plane);
  await untilQuiet(world);
  await world.point(revision, plane);
  await before.stop();
  await untilServed(plane, fleet);
  await changeRoutes(world, fleet);
  await untilQuiet(world);
  const kept = JSON.stringify(await certificatesOf(fleet)) === JSON.stringify(certificates);
  return { ...(await fleet.traffic.take()), plane, certificatesKept: kept };
}

/** Workloads are made anew under a control plane that runs beside the other. */
export async function swapByRevision(
  world: SwapWorld,
  fleet: Fleet,
  revision: string,
  plane: Plane,
): Promise<SwapReport> {
  await world.point(revision, plane);
  await untilInjecting(world, revision);
  await fleet.roll(await world.address(revision));
  await untilServed(plane, fleet);
  await changeRoutes(world, fleet);
  await untilQuiet(world);
  return { ...(await fleet.traffic.take()), plane, certificatesKept: false };
}

async function certificatesOf(fleet: Fleet): Promise<readonly string[]> {
  return Promise.all(fleet.pods().map((pod) => pod.certificate()));
}

/** The API may call the webhook of the revision. */
export async function untilInjecting(world: SwapWorld, revision: string): Promise<void> {
  const name = revision === "default" ? "istio-sidecar-injector" : `istio-sidecar-injector-${revision}`;
  const hasBundle = (webhook: unknown): boolean => Boolean(readRecord(readRecord(webhook).clientConfig).caBundle);
  await eventually(
    async () => {
      const found = await world.client.find(kubeKinds.mutatingWebhooks, { name });
      const webhooks = found && "webhooks" in found && Array.isArray(found.webhooks) ? found.webhooks : [];
      return webhooks.length > 0 && webhooks.every(hasBundle);
    },
    `the webhook of ${revision}`,
    240_000,
  );
}

async function untilServed(plane: Plane, fleet: Fleet): Promise<void> {
  const wanted = fleet.pods().length;
  let seen = 0;
  const all = async (): Promise<boolean> => {
    seen = await plane.proxies();
    return seen === wanted;
  };
  await eventually(all, "all proxies to connect", 180_000).catch((error) => {
    const logs = fleet.pods().map((pod) => `${pod.name}:\n${pod.log().split("\n").slice(-8).join("\n")}`);
    throw new Error(`${seen} of ${wanted} proxies are connected: ${error.message}\n${logs.join("\n")}`);
  });
}

let changes = 0;

/** A change that is made now reaches the proxies. */
async function changeRoutes(world: SwapWorld, fleet: Fleet): Promise<void> {
  const mark = String(++changes);
  const route = [{ destination: { host: "web" } }];
  const spec = { hosts: ["web"], http: [{ route, headers: { response: { set: { "x-change": mark } } } }] };
  const kind = {
    group: "networking.istio.io",
    version: "v1",
    plural: "virtualservices",
    kind: "VirtualService",
    namespaced: true,
  };
  await put(world.client, kind, istio("VirtualService", "web", spec));
  await eventually(
    async () => (await fleet.traffic.ask()).headers["x-change"] === mark,
    `change ${mark} to arrive`,
    240_000,
  );
}

const watched = [
  kubeKinds.mutatingWebhooks,
  kubeKinds.validatingWebhooks,
  kubeKinds.configMaps,
  kubeKinds.secrets,
  kubeKinds.services,
] as const;
const windowMs = 5000;

/** Two that wrote against each other would never be: nothing but locks is written for a while. */
async function untilQuiet({ client }: SwapWorld): Promise<void> {
  const versions = async (): Promise<ReadonlyMap<string, string>> => {
    const lists = await Promise.all(watched.map((kind) => client.list(kind)));
    const objects = lists.flatMap(({ items }) => items).filter((object) => !isLock(object));
    return new Map(
      objects.map(({ kind, metadata }) => [
        `${kind} ${metadata.namespace}/${metadata.name}`,
        metadata.resourceVersion ?? "",
      ]),
    );
  };
  const deadline = Date.now() + 180_000;
  let before = await versions();
  for (;;) {
    await wait(windowMs);
    const after = await versions();
    const changed = [...after].filter(([name, version]) => before.get(name) !== version).map(([name]) => name);
    if (changed.length === 0) return;
    if (Date.now() > deadline) throw new Error(`written again and again: ${changed.join(", ")}`);
    before = after;
  }
}

const isLock = ({ metadata }: KubeObject): boolean =>
  metadata.annotations?.["control-plane.alpha.kubernetes.io/leader"] !== undefined;
