/**
 * Connected proxies and what was made for them in; a running mesh in which requests are explained out. Nothing
 * is rendered for it but for Pods whose proxies are connected elsewhere, or not at all.
 */
import { createProxyView, type Decoded, type ProxyView } from "../../explain/index.ts";
import { unfetchedKeySet } from "../../fetch/index.ts";
import { FairleadError, readTextMap } from "../../lib/index.ts";
import { formatIdentity, type Proxy } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";
import { type Ads, type ProxyNode, type ProxyStatus, parseNodeId } from "../../xds/index.ts";
import { addressesOf } from "../proxy-of-node.ts";
import type { ControlledSource } from "../source/resource-source.ts";
import type { Stages } from "../stages.ts";
import { type ExplainedMesh, type ExplainedProxy, explainedName } from "./explained-mesh.ts";
import { factsOf } from "./offline-mesh.ts";

export interface LiveInputs {
  readonly stages: Stages;
  readonly ads: Ads;
  readonly resources: ControlledSource;
  readonly now: () => Date;
}

/** Thrown where a proxy is met that nothing has been made for yet. */
export class Unmade extends Error {
  readonly proxy: Proxy;
  constructor(proxy: Proxy) {
    super(`nothing is made for ${explainedName(proxy)}`);
    this.proxy = proxy;
  }
}

export interface LiveMesh extends ExplainedMesh {
  /** What is to be known of the proxies that were looked at. */
  notes(): readonly string[];
}

/** By their names. */
export type ConnectedProxies = ReadonlyMap<string, { readonly proxy: ExplainedProxy; readonly connectionId: string }>;

interface ConnectedInputs {
  readonly ads: Pick<Ads, "connected">;
  readonly stages: WithPods;
}

interface WithPods {
  readonly registry: { readonly pods: Pick<Stages["registry"]["pods"], "get"> };
}

/** Proxies that are looked at in a step. */
const atOnce = 500;

/** Pauses where others may be let in: there may be ten thousand, for a question about two of them. */
export function* connectedSteps({ ads, stages }: ConnectedInputs): Generator<undefined, ConnectedProxies> {
  const connected = new Map<string, { readonly proxy: ExplainedProxy; readonly connectionId: string }>();
  let looked = 0;
  for (const { connectionId, node, follows } of ads.connected()) {
    const proxy = follows ? placed(node, stages) : undefined;
    if (proxy) connected.set(explainedName(proxy), { proxy, connectionId });
    if (++looked % atOnce === 0) yield;
  }
  return connected;
}

/** `made` has what was rendered for proxies that are not connected here, by their names. */
export function createLiveMesh(
  inputs: LiveInputs,
  connected: ConnectedProxies,
  made: ReadonlyMap<string, Renderer>,
  decoded: Decoded,
): LiveMesh {
  const { stages, ads, resources } = inputs;
  const here = [...connected.values()].map(({ proxy }) => proxy);
  let byAddress: ReadonlyMap<string, ExplainedProxy> | undefined;
  const connectedAt = (address: string): ExplainedProxy | undefined => {
    byAddress ??= new Map(here.flatMap((proxy) => proxy.addresses.map((own) => [own, proxy] as const)));
    return byAddress.get(address);
  };
  const statusOf = (name: string): ProxyStatus | undefined => ads.statusOf(connected.get(name)?.connectionId ?? "");
  let pods: readonly Proxy[] | undefined;
  const podProxies = (): readonly Proxy[] => (pods ??= stages.podProxies());
  // Several steps are about one resource, and to collect what a large one was made from takes its time.
  const known = new Map<string, ReturnType<Renderer["causes"]>>();
  const looked = new Map<string, { readonly view: ProxyView; readonly renderer: Renderer }>();

  const rendererOf = (wanted: ExplainedProxy): Renderer => {
    const name = explainedName(wanted);
    const status = statusOf(name);
    const renderer = status ? resources.rendererOf(status.node) : made.get(name);
    if (renderer) return renderer;
    const pod = podProxies().find((one) => explainedName(one) === name);
    if (pod) throw new Unmade(pod);
    throw new FairleadError("not-found", `${name} has gone meanwhile`, { hint: "ask again" });
  };
  const view = (wanted: ExplainedProxy): ProxyView => {
    const name = explainedName(wanted);
    const known = looked.get(name);
    if (known) return known.view;
    const renderer = rendererOf(wanted);
    if (renderer.proxy.profile === "grpc")
      throw new FairleadError("invalid", `${name} is an application that speaks xDS itself`, {
        hint: "what is sent to Envoys can be followed; ask for a caller with a sidecar",
      });
    const identity = identityOf(wanted, statusOf(name), stages);
    const created = createProxyView({ name, ...factsOf(wanted), identity }, renderer, decoded);
    looked.set(name, { view: created, renderer });
    return created;
  };

  return {
    mesh: stages.mesh,
    // Pods are read only where somebody is named who is not connected.
    get proxies() {
      return [...here, ...podProxies().filter((pod) => !connected.has(explainedName(pod)))];
    },
    view,
    targets: (proxy) => rendererOf(proxy).proxy.targets,
    world: {
      proxyAt(address) {
        const proxy = connectedAt(address) ?? podProxies().find(({ addresses }) => addresses.includes(address));
        return proxy && view(proxy);
      },
      jwt: { now: inputs.now(), unknownKeys: unfetchedKeySet },
    },
    causes(proxy, type, name) {
      const key = `${proxy} ${type} ${name}`;
      const found = known.get(key) ?? looked.get(proxy)?.renderer.causes(type, name) ?? [];
      known.set(key, found);
      return found;
    },
    notes: () => [...looked.keys()].flatMap((name) => noteOf(name, statusOf(name))),
  };
}

function placed(node: ProxyNode, { registry }: WithPods): ExplainedProxy | undefined {
  const id = parseNodeId(node.id);
  if (!id || (id.type !== "sidecar" && id.type !== "router")) return undefined;
  const { type, name, namespace } = id;
  // Of ten thousand proxies a question looks at a few.
  return {
    ...{ type, name, namespace },
    get labels() {
      return registry.pods.get(`${namespace}/${name}`)?.labels ?? readTextMap(node.metadata.LABELS);
    },
    get addresses() {
      return addressesOf(node, id);
    },
  };
}

function identityOf(proxy: ExplainedProxy, status: ProxyStatus | undefined, { registry, settings }: Stages): string {
  if (status?.identity) return formatIdentity(status.identity);
  return formatIdentity({
    trustDomain: settings.current().trustDomain ?? "cluster.local",
    namespace: proxy.namespace,
    serviceAccount: registry.pods.get(`${proxy.namespace}/${proxy.name}`)?.serviceAccount || "default",
  });
}

function noteOf(name: string, status: ProxyStatus | undefined): readonly string[] {
  if (!status) return [`${name} is not connected to this control plane: this is what it would be sent`];
  const isInStep = status.types.every(
    ({ sentNonce, ackedNonce, lastError, refused }) =>
      sentNonce === ackedNonce && lastError === "" && refused.size === 0,
  );
  if (isInStep && status.held.length === 0) return [];
  return [`${name} has not acknowledged all that it was sent: until then it may do otherwise`];
}
