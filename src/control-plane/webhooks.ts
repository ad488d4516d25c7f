/** The webhooks: admission reviews in, verdicts and patches out. */
import { reviewAdmissionText } from "../config/index.ts";
import { type InjectionSources, reviewInjection } from "../inject/index.ts";
import type { Logger } from "../lib/index.ts";
import type { HttpHandler, Metrics } from "../ops/index.ts";
import { loadPatchChecker } from "../render/index.ts";
import type { References } from "./references.ts";

export function admissionHandler(metrics: Metrics, references: References): HttpHandler {
  // Envoy's types take a good part of a second to load: not before there is an EnvoyFilter.
  let loading: ReturnType<typeof loadPatchChecker> | undefined;
  const patchChecker = (): ReturnType<typeof loadPatchChecker> => {
    loading ??= loadPatchChecker();
    return loading;
  };
  return async (request) => {
    if (request.method !== "POST") return { status: 405, body: "POST an AdmissionReview\n" };
    if (!(request.headers["content-type"] ?? "").startsWith("application/json")) {
      metrics.count("galley_validation_http_error", { status: "415" });
      return { status: 415, body: "invalid Content-Type, want `application/json`\n" };
    }
    const body = await request.body();
    const patches = body.includes("EnvoyFilter") ? await patchChecker() : undefined;
    const { review, failure } = reviewAdmissionText(body, { references, ...(patches ? { patches } : {}) });
    metrics.count(
      review.response.allowed ? "galley_validation_passed" : "galley_validation_failed",
      failure === undefined ? {} : { reason: failure },
    );
    return { status: 200, type: "application/json", body: JSON.stringify(review) };
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
    const { outcome, body, failure } = reviewInjection(text, request.url.pathname, sources);
    if (outcome === "skipped") metrics.count("sidecar_injection_skip_total");
    if (outcome === "failed") metrics.count("sidecar_injection_failure_total");
    if (failure !== undefined) log.warn(`a Pod was not injected: ${failure}`);
    metrics.count("sidecar_injection_success_total");
    metrics.observe("sidecar_injection_time_seconds", (performance.now() - startMs) / 1000);
    return { status: 200, type: "application/json", body };
  };
}
