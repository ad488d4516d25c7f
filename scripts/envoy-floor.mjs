// The version of an Envoy in; the known fixes that it lacks out. Plain JavaScript for Node 20.19, as the preflight needs it.
import { spawnSync } from "node:child_process";

/**
 * Releases in which Envoy shut holes, newest first: what they are known by, and the first release of each line that has
 * them. A new line has all that came before it.
 * @type {readonly { what: string, releases: readonly string[] }[]}
 */
export const fixes = [
  { what: "the fixes of August 2026", releases: ["1.39.1", "1.38.4", "1.37.6", "1.36.10"] },
  {
    what: "ISTIO-SECURITY-2026-005 (CVE-2026-47778, CVE-2026-48042)",
    releases: ["1.38.3", "1.37.5", "1.36.9", "1.35.13"],
  },
  { what: "ISTIO-SECURITY-2026-004 (CVE-2026-47774)", releases: ["1.38.2", "1.37.4", "1.36.8"] },
  {
    what: "ISTIO-SECURITY-2026-001 (CVE-2026-26308, CVE-2026-26330)",
    releases: ["1.37.1", "1.36.5", "1.35.8", "1.34.13"],
  },
];

/** @param {string} version */
const numbers = (version) => version.split(".").map(Number);

/**
 * Empty where nothing is known against it. Of a line that a fix was not made for, all later ones are missing too.
 * @param {string} version
 * @returns {readonly string[]}
 */
export function missingFixes(version) {
  const [, minor = 0, patch = 0] = numbers(version);
  return fixes
    .filter(({ releases }) => {
      const lines = releases.map(numbers);
      const own = lines.find(([, line]) => line === minor);
      return own ? patch < (own[2] ?? 0) : lines.every(([, line = 0]) => line > minor);
    })
    .map(({ what }) => what);
}

/**
 * Undefined where it does not say: then it may be anybody's build.
 * @param {string} envoy
 * @returns {string | undefined}
 */
export function versionOf(envoy) {
  const { stdout } = spawnSync(envoy, ["--version"], { encoding: "utf8", timeout: 10_000 });
  return /\/(\d+\.\d+\.\d+)[^/]*\//.exec(stdout ?? "")?.[1];
}
