/** What answers `/version`, in istiod's words. */
import { istioVersion } from "../model/index.ts";

export function versionInfo(): Readonly<Record<string, string>> {
  return {
    version: istioVersion,
    revision: "fairlead",
    golang_version: `node${process.versions.node}`,
    status: "Clean",
    tag: istioVersion,
  };
}
