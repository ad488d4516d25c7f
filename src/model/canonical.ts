/** A workload's labels in; the name and revision under which Istio's telemetry shows it out. */
type Labels = Readonly<Record<string, string>>;

const nameLabels = ["service.istio.io/canonical-name", "app.kubernetes.io/name", "app"];
const revisionLabels = ["service.istio.io/canonical-revision", "app.kubernetes.io/version", "version"];

export function canonicalName(labels: Labels, workload: string): string {
  return firstLabel(labels, nameLabels) ?? workload;
}

export function canonicalRevision(labels: Labels): string {
  return firstLabel(labels, revisionLabels) ?? "latest";
}

function firstLabel(labels: Labels, keys: readonly string[]): string | undefined {
  const key = keys.find((candidate) => Object.hasOwn(labels, candidate));
  return key === undefined ? undefined : labels[key];
}
