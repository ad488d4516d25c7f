/** The validation webhook: admission reviews in, verdicts out; and the caBundle of its configuration kept right. */
import { reviewAdmissionText } from "../config/index.ts";
import type { KindRef, KubeClient } from "../kube/index.ts";
import { isRecord, type Logger, wait } from "../lib/index.ts";
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

const configurations: KindRef = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "validatingwebhookconfigurations",
  kind: "ValidatingWebhookConfiguration",
  namespaced: false,
};

export interface WebhookPatchOptions {
  readonly client: KubeClient;
  roots(): string;
  readonly revision: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Every half minute, and at once: cheap, and heals whatever somebody else wrote. */
export function runWebhookPatch(options: WebhookPatchOptions): void {
  const loop = async (): Promise<void> => {
    while (!options.signal.aborted) {
      await patchAll(options).catch((error: unknown) =>
        options.log.warn(`webhook configurations: ${error instanceof Error ? error.message : String(error)}`),
      );
      await wait(30_000, options.signal).catch(() => {});
    }
  };
  void loop();
}

async function patchAll(options: WebhookPatchOptions): Promise<void> {
  const { client } = options;
  const caBundle = Buffer.from(options.roots()).toString("base64");
  const { items } = await client.list(configurations, {
    labelSelector: `app=istiod,istio.io/rev=${options.revision || "default"}`,
  });
  for (const item of items) {
    const webhooks = Array.isArray(item.webhooks) ? item.webhooks.filter(isRecord) : [];
    // Until the bundle is right the API could not call us, so the installer leaves the policy at Ignore.
    const wanted = webhooks.map((webhook) => ({
      ...webhook,
      clientConfig: { ...(isRecord(webhook.clientConfig) ? webhook.clientConfig : {}), caBundle },
      failurePolicy: "Fail",
    }));
    if (JSON.stringify(wanted) === JSON.stringify(webhooks)) continue;
    await client.update(configurations, { ...item, webhooks: wanted });
    options.log.info(`webhook configuration ${item.metadata.name} has our root now`);
  }
}
