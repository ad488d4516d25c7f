/** The validation webhook: admission reviews in, verdicts out. */
import { reviewAdmissionText } from "../config/index.ts";
import type { HttpHandler, Metrics } from "../ops/index.ts";
import type { References } from "./references.ts";

export function admissionHandler(metrics: Metrics, references: References): HttpHandler {
  return async (request) => {
    if (request.method !== "POST") return { status: 405, body: "POST an AdmissionReview\n" };
    if (!(request.headers["content-type"] ?? "").startsWith("application/json")) {
      metrics.count("galley_validation_http_error", { status: "415" });
      return { status: 415, body: "invalid Content-Type, want `application/json`\n" };
    }
    const { review, failure } = reviewAdmissionText(await request.body(), { references });
    metrics.count(
      review.response.allowed ? "galley_validation_passed" : "galley_validation_failed",
      failure === undefined ? {} : { reason: failure },
    );
    return { status: 200, type: "application/json", body: JSON.stringify(review) };
  };
}
