/** How objects say to whom they apply: workload selectors, target references, namespaces they are exported to. */
import type { PolicyTargetReference, SidecarWorkloadSelector, WorkloadSelector } from "../../model/index.ts";
import { isDnsLabel } from "./names.ts";
import { each, quote, type Report } from "./report.ts";

interface Attached {
  readonly selector?: WorkloadSelector;
  readonly targetRef?: PolicyTargetReference;
  readonly targetRefs?: readonly PolicyTargetReference[];
}

/** Policies apply by selector or by reference, never by both. */
export function checkAttachment(report: Report, spec: Attached): void {
  const ways = [spec.selector !== undefined, spec.targetRef !== undefined, (spec.targetRefs ?? []).length > 0];
  if (ways.filter(Boolean).length > 1) report.error("only one of targetRefs or workloadSelector can be set");
  checkSelector(report.at("selector"), spec.selector);
  if (spec.targetRef) checkTargetRef(report.at("targetRef"), spec.targetRef);
  each(report, "targetRefs", spec.targetRefs, (ref, at) => checkTargetRef(at, ref));
}

export function checkSelector(report: Report, selector: WorkloadSelector | undefined): void {
  if (!selector) return;
  const labels = selector.matchLabels ?? {};
  for (const message of selectorErrors(labels)) report.error(message);
  if (Object.keys(labels).length === 0) report.warn("workload selector specified without labels");
}

function selectorErrors(labels: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(labels).flatMap(([key, value]) => {
    const pair = quote(`${key}=${value}`);
    return [
      ...(key === "" ? [`empty key is not supported in selector: ${pair}`] : []),
      ...(`${key}${value}`.includes("*") ? [`wildcard is not supported in selector: ${pair}`] : []),
    ];
  });
}

/** The older selector of networking kinds. False when it is so wrong that Istio looks no further. */
export function checkLabelSelector(
  report: Report,
  selector: SidecarWorkloadSelector | undefined,
  kind: string,
): boolean {
  if (!selector) return true;
  const labels = selector.labels ?? {};
  const errors = selectorErrors(labels);
  for (const message of errors) report.error(message);
  if (errors.length === 0 && Object.keys(labels).length === 0)
    report.warn(`${kind}: workload selector specified without labels, will be applied to all services in namespace`);
  return errors.length === 0;
}

const targets: ReadonlySet<string> = new Set([
  "core/Service",
  "networking.istio.io/ServiceEntry",
  "gateway.networking.k8s.io/Gateway",
  "gateway.networking.k8s.io/GatewayClass",
]);

const targetNames =
  "[core/v1/Service networking.istio.io/v1/ServiceEntry gateway.networking.k8s.io/v1/Gateway gateway.networking.k8s.io/v1/GatewayClass]";

function checkTargetRef(
  report: Report,
  { name = "", namespace = "", group = "", kind = "" }: PolicyTargetReference,
): void {
  if (name === "") report.error("targetRef name must be set");
  if (namespace !== "")
    report.error("targetRef namespace must not be set; cross namespace referencing is not supported");
  if (!targets.has(`${group === "" ? "core" : group}/${kind}`))
    report.error(`targetRef must be to one of ${targetNames} but was ${group}/${kind}`);
}

export interface ExportOptions {
  readonly namespace: string;
  /** ServiceEntries may be exported to nobody (`~`). */
  readonly allowNone?: boolean;
  /** A DestinationRule for some workloads stays in its namespace. */
  readonly ownNamespaceOnly?: boolean;
}

export function checkExportTo(report: Report, exportTo: readonly string[] | undefined, options: ExportOptions): void {
  const { namespace } = options;
  const seen = new Set<string>();
  each(report, "exportTo", exportTo, (entry, at) => {
    const key = entry === "." ? namespace : entry;
    if (seen.has(key)) {
      const current = key !== entry;
      at.error(
        current
          ? `duplicate entries in exportTo: . and current namespace ${namespace}`
          : `duplicate entries in exportTo for entry ${entry}`,
      );
      return;
    }
    const wrong = options.allowNone && entry === "~" ? undefined : exportError(key);
    at.error(wrong);
    if (wrong === undefined) seen.add(key);
  });
  checkTogether(report.at("exportTo"), seen, exportTo?.length ?? 0, options);
}

function checkTogether(report: Report, seen: ReadonlySet<string>, count: number, options: ExportOptions): void {
  if (options.ownNamespaceOnly && seen.size > 0) {
    if (!seen.has(options.namespace))
      report.error("destination rule with workload selector cannot have exportTo beyond current namespace");
    else if (seen.size > 1)
      report.error("destination rule with workload selector cannot have multiple entries in exportTo");
  }
  if (seen.has("*") && count > 1)
    report.error("cannot have both public (*) and non-public exportTo values for a resource");
  if (seen.has("~") && count > 1) report.error("cannot export service entry to no one (~) and someone");
}

function exportError(key: string): string | undefined {
  if (key === "." || key === "*") return undefined;
  if (key === "~") return "exportTo ~ (none) is not allowed for Istio configuration objects";
  return isDnsLabel(key) ? undefined : "only .,*, or a valid DNS 1123 label is allowed as exportTo entry";
}
