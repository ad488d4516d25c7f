/** The validation webhook: admission reviews in, verdicts out; and the caBundle of its configuration kept right. */
import { type Collection, sameData } from "../collections/index.ts";
import { reviewAdmissionText } from "../config/index.ts";
import { type KubeClient, kubeKinds } from "../kube/index.ts";
import { isRecord, type Logger } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";
import type { HttpHandler, Metrics } from "../ops/index.ts";

export function admissionHandler(metrics: Metrics): HttpHandler {
  return async (request) => {
    if (request.method !== "POST") return { status: 405, body: "POST an AdmissionReview\n" };
    if (!(request.headers["content-type"] ?? "").startsWith("application/json")) {
      metrics.count("galley_validation_http_error", { status: "415" });
      return { status: 415, body: "invalid Content-Type, want `application/json`\n" };
    }
    const { review, failure } = reviewAdmissionText(await request.body());
    metrics.count(
      review.response.allowed ? "galley_validation_passed" : "galley_validation_failed",
      failure === undefined ? {} : { reason: failure },
    );
    return { status: 200, type: "application/json", body: JSON.stringify(review) };
  };
}

export interface WebhookPatchOptions {
  readonly client: KubeClient;
  readonly configurations: Collection<KubeObject>;
  roots(): string;
  readonly revision: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Follows the configurations that are ours, and heals whatever somebody else wrote. */
export function runWebhookPatch(options: WebhookPatchOptions): void {
  const { configurations, signal, log } = options;
  const check = (key: string): void => {
    const found = configurations.get(key);
    if (!found || signal.aborted || !isOurs(found, options.revision)) return;
    patch(options, found).catch((error: unknown) => {
      log.warn(`webhook configuration ${key}: ${error instanceof Error ? error.message : String(error)}`);
      setTimeout(() => check(key), 1_000).unref();
    });
  };
  const stop = configurations.subscribe((key) => queueMicrotask(() => check(key)));
  signal.addEventListener("abort", stop, { once: true });
  for (const key of configurations.keys()) check(key);
}

function isOurs({ metadata }: KubeObject, revision: string): boolean {
  return metadata.labels?.["app"] === "istiod" && metadata.labels["istio.io/rev"] === (revision || "default");
}

async function patch(options: WebhookPatchOptions, item: KubeObject): Promise<void> {
  const caBundle = Buffer.from(options.roots()).toString("base64");
  const webhooks = Array.isArray(item["webhooks"]) ? item["webhooks"].filter(isRecord) : [];
  // Until the bundle is right the API could not call us, so the installer leaves the policy at Ignore.
  const wanted = webhooks.map((webhook) => ({
    ...webhook,
    clientConfig: { ...(isRecord(webhook["clientConfig"]) ? webhook["clientConfig"] : {}), caBundle },
    failurePolicy: "Fail",
  }));
  if (sameData(wanted, webhooks)) return;
  await options.client.update(kubeKinds.validatingWebhooks, { ...item, webhooks: wanted });
  options.log.info(`webhook configuration ${item.metadata.name} has our root now`);
}
