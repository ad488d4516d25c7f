/** Which Fairlead this is, and which Istio it stands in for, in a line. */
import { fairleadVersion, istioVersion } from "../model/index.ts";

export const versionLine = (): string =>
  `fairlead ${fairleadVersion} (stands in for Istio ${istioVersion}, on Node ${process.versions.node})`;
