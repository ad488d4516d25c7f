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

/** Those of the two versions of Istio before this one, whose proxies are served too: `npm run older-envoys`. */
export const olderEnvoys = [
  {
    istio: "1.31.0",
    version: "1.39.3",
    wheels: new Map([
      ["linux-x64", "ee848b81b10b86f1d919f793b75852d24884928f2733752b4443bcd66d7bc5a6"],
      ["linux-arm64", "2c624b8623c132e05f6f615f2e34b34fcdd1fdd0aaef065b3af55697178d2a50"],
    ]),
  },
  {
    istio: "1.30.0",
    version: "1.38.3",
    wheels: new Map([
      ["linux-x64", "4a8fa981eac59809147c0ca4fc17ad5b066c16c2499e75d992fe5129e07a34fa"],
      ["linux-arm64", "f94e4feef98323f4f56aff8859d8d108df59b38cc92f63043f8cb182ab0dcd42"],
    ]),
  },
];

/** @param {Readonly<Record<string, string | undefined>>} env */
export const cacheDir = (env, version = envoyVersion) => join(userCache(env), `envoy-${version}`);

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
