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

/** One line, as istiod prints it: version, revision and status. */
export function versionText(): string {
  const { version, revision, status } = versionInfo();
  return `${version}-${revision}-${status}`;
}
