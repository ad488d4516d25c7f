/** The file where the mesh's CA tells what it has revoked in; its text, and news of changes, out. */
import { FairleadError, type Logger, readBoundedFile, systemCode } from "../../lib/index.ts";
import { hasRevocationList } from "../../pki/index.ts";
import { watchFile } from "./watch-file.ts";

export interface RevocationList {
  /** PEM; empty where nothing is revoked. */
  current(): string;
  /** Calls back when it may have changed; returns the way to stop. */
  watch(changed: () => void): () => void;
}

/** Larger than any list that a ConfigMap holds. */
const maxBytes = 1024 * 1024;

/** Envoy refuses all roots together with a list that it cannot read: the last good one stays in place of such a list. */
export function createRevocationList(path: string, log: Logger): RevocationList {
  let last = "";
  return {
    current() {
      try {
        const text = readList(path);
        if (text === "" || hasRevocationList(text)) last = text;
        else throw new FairleadError("invalid", "there is no list of revoked certificates (X509 CRL) in it");
      } catch (error) {
        log.warn("the list of revoked certificates cannot be read; the last one stays", {
          ...{ path, cause: FairleadError.from(error).message },
        });
      }
      return last;
    },
    watch: (changed) => watchFile(path, changed, log),
  };
}

function readList(path: string): string {
  try {
    return readBoundedFile(path, maxBytes).trim();
  } catch (error) {
    // The ConfigMap is optional, and there is none in a mesh whose CA revokes nothing.
    if (["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "")) return "";
    throw error;
  }
}
