/**
 * Objects and connected proxies as they come and go, and changes that are only thought of, in; what each of these would do
 * out. A mesh of its own, which no proxy sees: it goes to the change and back again, at the cost of what differs.
 */
import { inNamespace, parseObjects } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import type { Identity, KubeObject, Proxy } from "../../model/index.ts";
import type { DiffAnswer, DiffQuestion, Mistake } from "../../read-api/index.ts";
import { type ProxyNode, proxyName } from "../../xds/index.ts";
import { completedLive } from "./completed.ts";
import { type ConnectedProxy, createDiffer } from "./differ.ts";
import { createNewMessages } from "./new-messages.ts";
import { asCreated, checkDeleted, keyOf, nameOf } from "./proposal.ts";
import type { StatesOptions } from "./states.ts";

/** What has become other since the last time. */
export interface ShadowNews {
  readonly objects: readonly KubeObject[];
  /** By `keyOf`. */
  readonly removed: readonly string[];
  readonly connected: readonly ShadowNode[];
  /** By their ids. */
  readonly left: readonly string[];
}

export interface ShadowNode {
  readonly id: string;
  readonly node: ProxyNode;
  readonly identity: Identity | undefined;
}

export interface Shadow {
  follow(news: ShadowNews): void;
  ask(question: DiffQuestion): Promise<DiffAnswer | Mistake>;
  /** Goes back to what there is, so that the next question costs its own size. */
  rest(): Promise<void>;
  /** How many proxies are remembered. */
  readonly kept: number;
}

/** Of those whom a sentence is about; the count is always whole. */
const maxNames = 1000;

export function createShadow(settings: NonNullable<StatesOptions["settings"]>): Shadow {
  const objects = new Map<string, KubeObject>();
  const nodes = new Map<string, ConnectedProxy>();
  const differ = createDiffer({ meshConfig: undefined, settings, complete: completedLive });
  const newMessages = createNewMessages(settings.configMap ?? "istio-system/istio");

  const connectedProxy = ({ id, node, identity }: ShadowNode): ConnectedProxy => ({
    name: proxyName(node),
    subject: { key: `connection ${id}`, proxy: () => proxyOf(node, identity) },
  });

  /** Whoever connects as something else is sent nothing. */
  function proxyOf(node: ProxyNode, identity: Identity | undefined): Proxy | undefined {
    try {
      return differ.states?.offline.proxyOf(node, identity);
    } catch (error) {
      if (error instanceof FairleadError) return undefined;
      throw error;
    }
  }

  async function diff({ objects: text = "", deleted = [], namespace = "default", ...asked }: DiffQuestion) {
    const base = [...objects.values()];
    const wanted = parseObjects("the change", text).map(({ object }) => asCreated(inNamespace(object, namespace)));
    if (wanted.length + deleted.length === 0)
      throw new FairleadError("usage", "the change has no object", { hint: "name what would be applied or deleted" });
    checkDeleted(deleted, new Set(base.map(nameOf)));
    return differ.diff({
      ...{ base, change: { wanted, deleted: new Set(deleted) }, before: {}, after: {} },
      ...{ wanted: asked.proxies ?? [], connected: [...nodes.values()], resources: asked.resources ?? false },
      ...(asked.analyze ? { analyze: (after: readonly KubeObject[]) => newMessages.of(base, after) } : {}),
    });
  }

  return {
    follow({ objects: changed, removed, connected, left }) {
      if (changed.length + removed.length > 0) newMessages.forget();
      for (const key of removed) objects.delete(key);
      for (const object of changed) objects.set(keyOf(object), object);
      for (const id of left) nodes.delete(id);
      for (const node of connected) nodes.set(node.id, connectedProxy(node));
    },
    async ask(question) {
      try {
        return bounded(await diff(question));
      } catch (error) {
        if (!(error instanceof FairleadError)) throw error;
        const { code, message, hint } = error;
        return { code, error: message, ...(hint === undefined ? {} : { remedy: hint }) };
      }
    },
    rest: () => differ.settle([...objects.values()], [...nodes.values()]),
    get kept() {
      return differ.states?.kept ?? 0;
    },
  };
}

const bounded = ({ sentences, classes, ...rest }: DiffAnswer): DiffAnswer => ({
  ...rest,
  sentences: sentences.map((one) => ({ ...one, proxies: one.proxies.slice(0, maxNames) })),
  classes: classes.map((one) => ({ ...one, proxies: one.proxies.slice(0, maxNames) })),
});
