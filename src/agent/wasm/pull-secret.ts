/** A `.dockerconfigjson` and a registry in; what to show to that registry, and to no other, out. */
import { FairleadError, isRecord, parseJson } from "../../lib/index.ts";

export interface RegistryCredentials {
  /** `user:password` in base64. */
  readonly basic: string | undefined;
  /** Shown as it is. */
  readonly token: string | undefined;
}

const anonymous: RegistryCredentials = { basic: undefined, token: undefined };
const dockerHubKey = "https://index.docker.io/v1/";

export function credentialsFor(registry: string, secret: string | undefined): RegistryCredentials {
  if (secret === undefined) return anonymous;
  const auths = authsOf(secret);
  const key = Object.keys(auths).find((name) => registryOf(name) === registry);
  const entry = key === undefined ? undefined : auths[key];
  if (!isRecord(entry)) return anonymous;
  const { username, password, auth, registrytoken } = entry;
  const basic =
    typeof auth === "string" && auth !== ""
      ? auth
      : typeof username === "string" && typeof password === "string"
        ? Buffer.from(`${username}:${password}`).toString("base64")
        : undefined;
  return { basic, token: typeof registrytoken === "string" && registrytoken !== "" ? registrytoken : undefined };
}

function authsOf(secret: string): Readonly<Record<string, unknown>> {
  try {
    const parsed = parseJson(secret);
    const auths = isRecord(parsed) ? parsed.auths : undefined;
    if (isRecord(auths)) return auths;
  } catch {
    // Told below, without what is in it.
  }
  throw new FairleadError("invalid", "the pull secret is no .dockerconfigjson");
}

/** Keys may be written as hosts or as URLs. */
function registryOf(key: string): string {
  if (key === dockerHubKey) return "index.docker.io";
  const host = key.replace(/^https?:\/\//, "").replace(/\/.*$/, "");
  return host === "docker.io" ? "index.docker.io" : host;
}
