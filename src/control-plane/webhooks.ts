/** The webhooks: admission reviews in, verdicts and patches out. */
import { type InjectionSources, reviewInjection } from "../inject/index.ts";
import type { Logger } from "../lib/index.ts";
import type { HttpHandler, Metrics } from "../ops/index.ts";
import type { References } from "./references.ts";
import { type BodyReview, reviewBody } from "./review-body.ts";
import type { ReviewThread } from "./review-thread.ts";

/** What is larger is reviewed in a thread: of the costliest objects a megabyte takes more than a second. */
const mostOnLoop = 64 * 1024;

export function admissionHandler(metrics: Metrics, references: References, thread: ReviewThread): HttpHandler {
  const reviewed = (body: string, signal: AbortSignal): Promise<BodyReview> =>
    body.length > mostOnLoop ? thread.review(body, signal) : reviewBody(body);
  return async (request) => {
    if (request.method !== "POST") return { status: 405, body: "POST an AdmissionReview\n" };
    if (!(request.headers["content-type"] ?? "").startsWith("application/json")) {
      metrics.count("galley_validation_http_error", { status: "415" });
      return { status: 415, body: "invalid Content-Type, want `application/json`\n" };
    }
    const { review, failure, referenced } = await reviewed(await request.body(), request.signal);
    const warnings = [...(review.response.warnings ?? []), ...(referenced ? references(referenced) : [])];
    metrics.count(
      review.response.allowed ? "galley_validation_passed" : "galley_validation_failed",
      failure === undefined ? {} : { reason: failure },
    );
    const response = { ...review.response, ...(warnings.length > 0 ? { warnings } : {}) };
    return { status: 200, type: "application/json", body: JSON.stringify({ ...review, response }) };
  };
}

export function injectionHandler(metrics: Metrics, sources: InjectionSources, log: Logger): HttpHandler {
  return async (request) => {
    metrics.count("sidecar_injection_requests_total");
    const startMs = performance.now();
    const refused = (status: number, body: string): { status: number; body: string } => {
      metrics.count("sidecar_injection_failure_total");
      return { status, body };
    };
    if (request.headers["content-type"] !== "application/json")
      return refused(415, "invalid Content-Type, want `application/json`\n");
    const text = await request.body();
    if (text === "") return refused(400, "no body found\n");
    const { outcome, body, failure } = await reviewInjection(text, request.url.pathname, sources);
    if (outcome === "skipped") metrics.count("sidecar_injection_skip_total");
    if (outcome === "failed") metrics.count("sidecar_injection_failure_total");
    log.debug("a Pod was reviewed", { outcome });
    if (failure !== undefined) log.warn(`a Pod was not injected: ${failure}`);
    metrics.count("sidecar_injection_success_total");
    metrics.observe("sidecar_injection_time_seconds", (performance.now() - startMs) / 1000);
    return { status: 200, type: "application/json", body };
  };
}
