/** Which Istio this stands in for, and what answers `/version`. */

/** The one place where the Istio version is written down. */
export const istioVersion = "1.32.0";

export function versionInfo(): Readonly<Record<string, string>> {
  return {
    version: istioVersion,
    revision: "fairlead",
    golang_version: `node${process.versions.node}`,
    status: "Clean",
    tag: istioVersion,
  };
}
