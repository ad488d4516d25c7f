/** A folder with the workload's certificate, key and roots in; its identity out, read again as they change: nobody is asked for another. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { FairleadError, type Logger, readBoundedFile } from "../../lib/index.ts";
import { parseCertificate, parsePrivateKey, sameKey } from "../../pki/index.ts";
import { certificateFileNames } from "./certificate-files.ts";
import type { WorkloadCredentials } from "./credentials.ts";
import { watchFile } from "./watch-file.ts";
import type { WorkloadIdentity } from "./workload-identity.ts";

/** Larger than any chain. */
const maxBytes = 1024 * 1024;

/** Undefined where not all three files are there, as Istio's agent has it. */
export function createFileIdentity(folder: string, log: Logger): WorkloadIdentity | undefined {
  const files = Object.values(certificateFileNames).map((name) => join(folder, name));
  if (!files.every((file) => existsSync(file))) return undefined;
  const listeners = new Set<(credentials: WorkloadCredentials) => void>();
  let current: WorkloadCredentials | undefined;
  const refresh = (): void => {
    try {
      const found = readCredentials(folder);
      if (found.chain === current?.chain && found.key === current.key && found.roots === current.roots) return;
      current = found;
      log.info("the certificate is taken from files", { folder, until: found.notAfter.toISOString() });
    } catch (error) {
      // Files that are replaced one by one do not belong together for a moment.
      log.warn("the certificate in files cannot be used", { folder, cause: FairleadError.from(error).message });
      return;
    }
    for (const listener of listeners) listener(current);
  };
  return {
    current: () => current,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    renewSoon: () => {},
    async run(signal) {
      const stops = files.map((file) => watchFile(file, refresh, log));
      refresh();
      const ended = Promise.withResolvers<void>();
      if (signal.aborted) ended.resolve();
      signal.addEventListener("abort", () => ended.resolve(), { once: true });
      await ended.promise;
      for (const stop of stops) stop();
    },
  };
}

function readCredentials(folder: string): WorkloadCredentials {
  const read = (name: string): string => readBoundedFile(join(folder, name), maxBytes);
  const [chain, key] = [read(certificateFileNames.chain), read(certificateFileNames.key)];
  const certificate = parseCertificate(chain);
  if (!sameKey(certificate.publicKey, parsePrivateKey(key).publicKey))
    throw new FairleadError("invalid", `${certificateFileNames.key} is not the key of ${certificateFileNames.chain}`);
  return { chain, key, roots: read(certificateFileNames.roots), notAfter: certificate.validToDate };
}
