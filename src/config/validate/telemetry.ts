/** Telemetry in, what istiod's webhook says of it into the report. */
import type { ProviderRef, TelemetryMetricsOverrides, TelemetrySpec, TelemetryTracing } from "../../model/index.ts";
import type { Check } from "./check.ts";
import { each, type Report } from "./report.ts";
import { checkAttachment } from "./selector.ts";
import { isSet } from "./values.ts";

export const checkTelemetry: Check<TelemetrySpec> = (report, spec, _, { cel }) => {
  checkAttachment(report, spec);
  each(report, "metrics", spec.metrics, ({ providers, overrides }, at) => {
    at.at("providers").error(providersError(providers));
    each(at, "overrides", overrides, (override, below) => checkOverride(below, override));
  });
  if ((spec.tracing ?? []).length > 1) report.at("tracing").warn("multiple tracing is not currently supported");
  each(report, "tracing", spec.tracing, (tracing, at) => checkTracing(at, tracing));
  each(report, "accessLogging", spec.accessLogging, ({ providers, filter }, at) => {
    const wrong = filter ? cel?.syntaxError(filter.expression ?? "") : undefined;
    if (wrong) at.at("filter", "expression").error(`must be a valid CEL expression, ${wrong}`);
    at.at("providers").error(providersError(providers));
  });
};

const providersError = (providers: readonly ProviderRef[] | undefined): string | undefined =>
  (providers ?? []).every(({ name }) => isSet(name)) ? undefined : "providers.name may not be empty";

function checkOverride(report: Report, override: TelemetryMetricsOverrides): void {
  for (const [name, { operation = "UPSERT", value = "" }] of Object.entries(override.tagOverrides ?? {})) {
    const at = report.at("tagOverrides");
    if (name === "") at.warn("tagOverrides.name may not be empty");
    if (operation === "UPSERT" && value === "") at.error("tagOverrides.value must be set when operation is UPSERT");
    if (operation === "REMOVE" && value !== "") at.error("tagOverrides.value may only be set when operation is UPSERT");
  }
  if (override.match?.customMetric === "" && override.match.metric === undefined)
    report.at("match", "customMetric").error("customMetric may not be empty");
}

function checkTracing(report: Report, tracing: TelemetryTracing): void {
  if ((tracing.providers ?? []).length > 1)
    report.at("providers").warn("multiple providers is not currently supported");
  report.at("providers").error(providersError(tracing.providers));
  const share = tracing.randomSamplingPercentage ?? 0;
  if (share < 0 || share > 100)
    report.at("randomSamplingPercentage").error("randomSamplingPercentage must be in range [0.0, 100.0]");
  for (const [name, tag] of Object.entries(tracing.customTags ?? {})) {
    const at = report.at("customTags", name);
    if (name === "") at.error("tag name may not be empty");
    if (tag.literal && !isSet(tag.literal.value)) at.error("literal tag value may not be empty");
    if (tag.header && !isSet(tag.header.name)) at.error("header tag name may not be empty");
    if (tag.environment && !isSet(tag.environment.name)) at.error("environment tag name may not be empty");
  }
}
