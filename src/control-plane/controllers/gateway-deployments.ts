/**
 * Gateways of the Gateway API in; the Deployments, Services and ServiceAccounts that run them, in the API, out. Written
 * by server-side apply, so that users' own fields stay; what is there and not marked as managed is left alone.
 */
import type { Collection } from "../../collections/index.ts";
import { gatewayObjects, type InjectionSources, managedBy, managedLabel, parameterError } from "../../inject/index.ts";
import { type KindRef, type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError, type Logger, readList, readRecord, readText, readTextMap } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { runKeyedWork } from "./keyed-work.ts";

export interface GatewayDeploymentsOptions {
  readonly client: KubeClient;
  readonly gateways: Collection<KubeObject>;
  readonly classes: Collection<KubeObject>;
  readonly listenerSets: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
  /** Managed ones only: one that somebody deletes or edits is made again. */
  readonly deployments: Collection<KubeObject>;
  readonly injection: Pick<InjectionSources, "settings" | "proxyConfig" | "proxyIds">;
  /** Where ConfigMaps with the defaults of a class are. */
  readonly systemNamespace: string;
  readonly revision: string;
  readonly log: Logger;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

const controller = "istio.io/gateway-controller";
const fieldManager = controller;
const nameLabel = "gateway.networking.k8s.io/gateway-name";
/** Names, in a ConfigMap of the system namespace, the class whose defaults it holds. */
const classDefaults = "gateway.istio.io/defaults-for-class";
const defaultUser = 1337;

const kindsOf: ReadonlyMap<string, KindRef> = new Map(
  [
    kubeKinds.serviceAccounts,
    kubeKinds.deployments,
    kubeKinds.services,
    kubeKinds.autoscalers,
    kubeKinds.disruptionBudgets,
  ].map((kind) => [kind.kind, kind]),
);

export function runGatewayDeployments(options: GatewayDeploymentsOptions): void {
  const { gateways, signal } = options;
  const work = async (key: string): Promise<void> => {
    const gateway = gateways.get(key);
    if (!gateway || gateway.metadata.deletionTimestamp !== undefined || !isOurs(options, gateway)) return;
    for (const object of objectsOf(options, gateway)) await apply(options, object);
  };
  const queue = runKeyedWork({ ...options, name: "Deployment of Gateway", work, minBackoffMs: 1_000 });
  const all = (): void => {
    for (const key of gateways.keys()) queue.due(key);
  };
  const stops = [
    gateways.subscribe((key, now, before) => {
      if (now?.metadata.generation !== before?.metadata.generation || !before) queue.due(key);
    }),
    options.classes.subscribe((_key, now, before) => {
      if (now?.metadata.generation !== before?.metadata.generation) all();
    }),
    options.listenerSets.subscribe((_key, now, before) => {
      for (const set of [now, before]) if (set) queue.due(parentOf(set));
    }),
    options.configMaps.subscribe((_key, now, before) => {
      for (const map of [now, before]) if (map && isParameters(map)) all();
    }),
    options.deployments.subscribe((_key, now, before) => {
      const owner = (now ?? before)?.metadata;
      // Our own writes come back here too, and settle at once: what is applied again unchanged is no change.
      if (owner && now?.metadata.generation !== before?.metadata.generation)
        queue.due(`${owner.namespace}/${owner.labels?.[nameLabel] ?? ""}`);
    }),
  ];
  signal.addEventListener("abort", () => stops.map((stop) => stop()), { once: true });
  all();
}

/** A ConfigMap of the injector, of a class's defaults, or one that a Gateway may name. */
function isParameters({ metadata, data }: KubeObject): boolean {
  if (metadata.name.startsWith("istio-sidecar-injector")) return true;
  if (metadata.labels?.[classDefaults] !== undefined) return true;
  return Object.keys(readTextMap(data)).some((key) => ["deployment", "service", "serviceAccount"].includes(key));
}

/** Of our controller and revision, and not with an address that says that it runs elsewhere. */
function isOurs({ classes, revision }: GatewayDeploymentsOptions, { metadata, spec }: KubeObject): boolean {
  const { gatewayClassName, addresses } = readRecord(spec);
  const name = readText(gatewayClassName);
  const known = classes.get(name);
  const by = known ? readText(readRecord(known.spec).controllerName) : name === "istio" ? controller : "";
  if (by !== controller) return false;
  const wanted = metadata.labels?.["istio.io/rev"];
  if (wanted !== undefined && wanted !== (revision || "default")) return false;
  const [first, ...more] = readList(addresses).map(readRecord);
  return more.length === 0 && (!first || (readText(first.type) || "IPAddress") === "IPAddress");
}

function objectsOf(options: GatewayDeploymentsOptions, gateway: KubeObject): readonly KubeObject[] {
  const { injection } = options;
  const { name, namespace = "default" } = gateway.metadata;
  const ids = injection.proxyIds?.(namespace) ?? {};
  return gatewayObjects({
    gateway,
    moreListeners: attachedListeners(options, `${namespace}/${name}`),
    settings: injection.settings(),
    proxyConfig: injection.proxyConfig(namespace, { [nameLabel]: name }, {}),
    parameters: parametersOf(options, gateway),
    proxyUser: ids.proxyUser ?? defaultUser,
    proxyGroup: ids.proxyGroup ?? defaultUser,
  });
}

function attachedListeners({ listenerSets }: GatewayDeploymentsOptions, gateway: string): readonly unknown[] {
  return listenerSets.keys().flatMap((key) => {
    const set = listenerSets.get(key);
    return set && parentOf(set) === gateway ? readList(readRecord(set.spec).listeners) : [];
  });
}

function parentOf({ metadata, spec }: KubeObject): string {
  const { name, namespace } = readRecord(readRecord(spec).parentRef);
  return `${readText(namespace) || (metadata.namespace ?? "default")}/${readText(name)}`;
}

function parametersOf(
  { configMaps, systemNamespace }: GatewayDeploymentsOptions,
  { metadata, spec }: KubeObject,
): readonly Readonly<Record<string, string>>[] {
  const { gatewayClassName, infrastructure } = readRecord(spec);
  const [defaults] = configMaps
    .keys()
    .flatMap((key) => (key.startsWith(`${systemNamespace}/`) ? (configMaps.get(key) ?? []) : []))
    .filter((map) => map.metadata.labels?.[classDefaults] === readText(gatewayClassName))
    .sort((a, b) => ((a.metadata.creationTimestamp ?? "") < (b.metadata.creationTimestamp ?? "") ? -1 : 1));
  const own = namedParameters(configMaps, metadata.namespace ?? "default", readRecord(infrastructure).parametersRef);
  return [defaults, own].flatMap((map) => {
    if (!map) return [];
    const data = readTextMap(map.data);
    const problem = parameterError(data);
    if (problem) throw new FairleadError("invalid", `ConfigMap ${map.metadata.name}: ${problem}`);
    return [data];
  });
}

function namedParameters(
  configMaps: Collection<KubeObject>,
  namespace: string,
  reference: unknown,
): KubeObject | undefined {
  if (reference === undefined) return undefined;
  const { group, kind, name } = readRecord(reference);
  if (readText(group) !== "" || readText(kind) !== "ConfigMap")
    throw new FairleadError("invalid", `spec.infrastructure.parametersRef: only a ConfigMap can be named`);
  const found = configMaps.get(`${namespace}/${readText(name)}`);
  if (!found)
    throw new FairleadError("not-found", `spec.infrastructure.parametersRef: there is no ConfigMap ${readText(name)}`);
  return found;
}

async function apply({ client, log, signal }: GatewayDeploymentsOptions, object: KubeObject): Promise<void> {
  const kind = kindsOf.get(object.kind);
  if (!kind) throw new Error(`no Gateway is made of a ${object.kind}`);
  const { name, namespace } = object.metadata;
  const there = await client.find(kind, { name, namespace }, signal);
  if (there && there.metadata.labels?.[managedLabel] !== managedBy) {
    log.warn(`${object.kind} ${namespace}/${name} is somebody else's and is left alone`);
    return;
  }
  await client.patch(kind, { name, namespace }, "apply", object, { fieldManager, force: true, signal });
}
