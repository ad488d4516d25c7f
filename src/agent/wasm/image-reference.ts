/** `oci://HOST/REPOSITORY:TAG` or `…@sha256:DIGEST` in; where the image is and what it is called there out. */
import { isIP } from "node:net";
import { FairleadError, isLoopbackHost } from "../../lib/index.ts";

export interface ImageReference {
  /** With its port; as pull secrets and lists of insecure registries name it. */
  readonly registry: string;
  readonly repository: string;
  /** The tag, or `sha256:…`. */
  readonly identifier: string;
  readonly digest: string | undefined;
}

const dockerHub = "index.docker.io";
/** A name or an IPv4 address, or an IPv6 address in brackets. */
const registryPattern = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;
const repositoryPattern = /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*$/;
const tagPattern = /^\w[\w.-]{0,127}$/;
const digestPattern = /^sha256:[0-9a-f]{64}$/;

export function parseImageReference(url: string): ImageReference {
  const bad = (why: string): FairleadError => new FairleadError("invalid", `${url} names no image: ${why}`);
  const rest = url.replace(/^oci:\/\//, "");
  const [place = "", digest] = rest.split("@", 2);
  const slash = place.indexOf("/");
  const first = slash < 0 ? "" : place.slice(0, slash);
  const hasHost = first.includes(".") || first.includes(":") || first === "localhost";
  const path = hasHost ? place.slice(slash + 1) : place;
  const colon = path.indexOf(":");
  const [name, tag] = colon < 0 ? [path, undefined] : [path.slice(0, colon), path.slice(colon + 1)];
  const registry = hasHost && first !== "docker.io" ? first : dockerHub;
  const repository = registry === dockerHub && !name.includes("/") ? `library/${name}` : name;
  if (!registryPattern.test(registry)) throw bad("its registry is none");
  if (!repositoryPattern.test(repository) || repository.length > 255) throw bad("its repository is none");
  if (tag !== undefined && !tagPattern.test(tag)) throw bad("its tag is none");
  if (digest !== undefined && !digestPattern.test(digest)) throw bad("its digest is no SHA-256");
  return { registry, repository, identifier: digest ?? tag ?? "latest", digest };
}

/** Registries that container tools call without TLS. */
export function isPlainRegistry(registry: string): boolean {
  const host = registry.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  return isLoopbackHost(host) || host.endsWith(".local") || (isIP(host) === 4 && isPrivate(host));
}

function isPrivate(address: string): boolean {
  const [a = 0, b = 0] = address.split(".").map(Number);
  return a === 10 || (a === 172 && b >= 16 && b <= 31) || (a === 192 && b === 168);
}
