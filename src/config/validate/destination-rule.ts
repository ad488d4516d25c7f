/** A DestinationRule in, what istiod's webhook says of it into the report. */
import type { DestinationRuleSpec } from "../../model/index.ts";
import type { Check } from "./check.ts";
import { checkLabels, subsetNameError, wildcardDomainError } from "./names.ts";
import { each } from "./report.ts";
import { checkExportTo, checkSelector } from "./selector.ts";
import { checkTrafficPolicy } from "./traffic-policy.ts";

export const checkDestinationRule: Check<DestinationRuleSpec> = (report, spec, { namespace }) => {
  report.at("host").error(wildcardDomainError(spec.host ?? ""));
  checkTrafficPolicy(report.at("trafficPolicy"), spec.trafficPolicy, namespace);
  const names = new Set<string>();
  each(report, "subsets", spec.subsets, ({ name = "", labels, trafficPolicy }, at) => {
    if (names.has(name)) at.at("name").error(`duplicate subset names: ${name}`);
    names.add(name);
    at.at("name").error(subsetNameError(name));
    checkLabels(at.at("labels"), labels);
    checkTrafficPolicy(at.quiet.at("trafficPolicy"), trafficPolicy, namespace);
  });
  checkExportTo(report, spec.exportTo, { namespace, ownNamespaceOnly: spec.workloadSelector !== undefined });
  checkSelector(report.at("workloadSelector"), spec.workloadSelector);
};
