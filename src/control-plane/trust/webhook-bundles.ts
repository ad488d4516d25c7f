/**
 * Webhook configurations of our revision in; the same with our roots as caBundle out, whoever wrote something else. A
 * validating webhook fails closed only once it has been seen to answer: until then the API could not be written to.
 */
import { type Collection, sameData } from "../../collections/index.ts";
import { alwaysReject } from "../../config/index.ts";
import { type KindRef, type KubeClient, kindRef, kubeKinds } from "../../kube/index.ts";
import { FairleadError, type Logger, type QueueMeter, readList, readRecord, readText } from "../../lib/index.ts";
import { type KubeObject, kindOf } from "../../model/index.ts";
import type { Metrics } from "../../ops/index.ts";
import { runKeyedWork } from "../controllers/index.ts";

export interface WebhookBundlesOptions {
  readonly client: KubeClient;
  readonly validating: Collection<KubeObject>;
  readonly mutating: Collection<KubeObject>;
  roots(): string;
  /** Calls back when the roots have changed; returns the way to stop. */
  onRoots(changed: () => void): () => void;
  readonly revision: string;
  /** Where the object is tried that must be refused. */
  readonly namespace: string;
  readonly metrics: Pick<Metrics, "count">;
  readonly log: Logger;
  readonly meters?: Readonly<Record<"validating" | "mutating", QueueMeter>>;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/** One kind of configuration, and which of its webhooks call us. */
interface Side {
  readonly kind: KindRef;
  readonly suffix: string;
}

const sides: ReadonlyMap<"validating" | "mutating", Side> = new Map([
  ["validating", { kind: kubeKinds.validatingWebhooks, suffix: "validation.istio.io" }],
  ["mutating", { kind: kubeKinds.mutatingWebhooks, suffix: "sidecar-injector.istio.io" }],
]);

/** Follows the configurations that are ours, and heals whatever somebody else wrote. */
export function runWebhookBundles(options: WebhookBundlesOptions): void {
  for (const [name, side] of sides) {
    const configurations = options[name];
    const work = async (key: string): Promise<void> => {
      const found = configurations.get(key);
      if (!found || found.metadata.labels?.["istio.io/rev"] !== (options.revision || "default")) return;
      await heal(options, side, found);
    };
    const queue = runKeyedWork({ ...options, name: "webhook configuration", work, meter: options.meters?.[name] });
    const all = (): void => configurations.keys().forEach(queue.due);
    const stops = [configurations.subscribe(queue.due), options.onRoots(all)];
    options.signal.addEventListener("abort", () => stops.forEach((stop) => void stop()), { once: true });
    all();
  }
}

async function heal(options: WebhookBundlesOptions, { kind, suffix }: Side, item: KubeObject): Promise<void> {
  const before = readList(item["webhooks"]).map(readRecord);
  const isOurs = (webhook: Readonly<Record<string, unknown>>): boolean => readText(webhook["name"]).endsWith(suffix);
  const caBundle = bundle(options);
  const bundled = before.map((webhook) =>
    isOurs(webhook) ? { ...webhook, clientConfig: { ...readRecord(webhook["clientConfig"]), caBundle } } : webhook,
  );
  if (!sameData(bundled, before)) {
    // The answer comes back by the watch, and what is still to be done with it.
    await update(options, kind, item, bundled);
    options.log.info(`webhook configuration ${item.metadata.name} has our root now`);
    return;
  }
  if (kind !== kubeKinds.validatingWebhooks) return;
  if (before.every((webhook) => !isOurs(webhook) || webhook["failurePolicy"] === "Fail")) return;
  await seeRefused(
    options,
    before.filter((webhook) => isOurs(webhook)),
  );
  await update(
    options,
    kind,
    item,
    before.map((webhook) => (isOurs(webhook) ? { ...webhook, failurePolicy: "Fail" } : webhook)),
  );
  options.log.info(`webhook configuration ${item.metadata.name} answers and fails closed now`);
}

/** A webhook without a root would refuse every write once it fails closed. */
function bundle({ roots, metrics }: WebhookBundlesOptions): string {
  const pem = roots();
  if (!pem.includes("-----BEGIN CERTIFICATE-----")) {
    metrics.count("galley_validation_config_load_error", { reason: "no_root" });
    throw new FairleadError("internal", "the control plane has no root, so webhook configurations stay as they are");
  }
  return Buffer.from(pem).toString("base64");
}

async function update(
  { client, metrics, signal }: WebhookBundlesOptions,
  kind: KindRef,
  item: KubeObject,
  webhooks: readonly unknown[],
): Promise<void> {
  const name = item.metadata.name;
  const isValidating = kind === kubeKinds.validatingWebhooks;
  metrics.count("webhook_patch_attempts_total", { name });
  try {
    // With the version that was read: of two writers the later one looks again.
    await client.update(kind, { ...item, webhooks }, { signal });
    if (isValidating) metrics.count("galley_validation_config_updates");
  } catch (error) {
    if (isValidating)
      metrics.count("galley_validation_config_update_error", { reason: FairleadError.from(error).code });
    metrics.count("webhook_patch_failures_total", { name, reason: "webhook_update_failure" });
    metrics.count("webhook_patch_retries_total", { name });
    throw error;
  }
}

const gateway = kindOf("networking.istio.io/v1", "Gateway");

/** Asks the API to write, for show only, what our webhook always refuses: refused it must be by us. */
async function seeRefused(
  { client, namespace, signal }: WebhookBundlesOptions,
  webhooks: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  if (!gateway) throw new Error("the schema of Gateway is missing");
  const probe: KubeObject = {
    apiVersion: "networking.istio.io/v1",
    kind: "Gateway",
    metadata: {
      name: "validation-probe",
      namespace,
      labels: selectedLabels(webhooks),
      annotations: { [alwaysReject]: "true" },
    },
    spec: {},
  };
  const answer = await client.create(kindRef(gateway), probe, { dryRun: true, signal }).then(
    () => "was accepted",
    (error: unknown) => FairleadError.from(error).message,
  );
  if (answer.includes("denied the request")) return;
  throw new FairleadError("unavailable", `the webhook does not answer yet, so it stays open: a bad Gateway ${answer}`);
}

/** A webhook for the objects of one revision is only asked about those that name it. */
function selectedLabels(webhooks: readonly Readonly<Record<string, unknown>>[]): Readonly<Record<string, string>> {
  const expressions = webhooks.flatMap(({ objectSelector }) =>
    readList(readRecord(objectSelector)["matchExpressions"]),
  );
  const named = expressions.map(readRecord).find(({ key, operator }) => key === "istio.io/rev" && operator === "In");
  const revision = readText(readList(named?.["values"])[0]);
  return revision === "" ? {} : { "istio.io/rev": revision };
}
