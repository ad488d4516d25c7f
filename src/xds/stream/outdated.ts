/** What a client holds from an earlier stream in a version that is not today's: of it only the name is known. */
import type { Resource } from "../../model/index.ts";

const unknown: readonly string[] = [];
const nothing: Resource["pieces"] = [];

export function outdated(name: string, hash: string): Resource {
  return { name, hash, needs: unknown, pieces: nothing, size: 0 };
}

export function isOutdated(resource: Resource | undefined): boolean {
  return resource?.needs === unknown;
}
