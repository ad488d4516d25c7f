/** Credentials in, the files that programs without SDS read (OUTPUT_CERTS) out; and such files in, a client certificate out (PROV_CERT). */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { FairleadError, type Logger, readBoundedFile } from "../../lib/index.ts";
import { parseCertificate, replaceSecretFile } from "../../pki/index.ts";
import type { ClientTls } from "../../rpc/index.ts";
import { rootsName, type SecretSource, workloadName } from "./secrets.ts";

/** As Istio's agent calls them. */
export const certificateFileNames = { key: "key.pem", chain: "cert-chain.pem", roots: "root-cert.pem" } as const;
const { key: keyFile, chain: chainFile, roots: rootsFile } = certificateFileNames;

/** Larger than any chain. */
const maxBytes = 1024 * 1024;

export interface CertificateFilesOptions {
  readonly source: SecretSource;
  readonly folder: string;
  /** In a Pod the application's container reads them, as another user. */
  readonly mode: number;
  readonly log: Logger;
}

/** Each set is written whole before the next is begun; `settled` resolves when nothing is being written. */
export function writeCertificateFiles(options: CertificateFilesOptions): { readonly settled: () => Promise<void> } {
  const { source } = options;
  let writing = Promise.resolve();
  const write = (): void => {
    writing = writing.then(() => writeSet(options)).catch((error) => warn(error, options));
  };
  for (const name of [workloadName, rootsName]) source.watch(name, write);
  write();
  return { settled: () => writing };
}

/** The key first, as Istio's agent does: whoever watches the chain finds its key there. */
async function writeSet({ source, folder, mode }: CertificateFilesOptions): Promise<void> {
  const [own, roots] = [source.get(workloadName)?.content, source.get(rootsName)?.content];
  if (own?.type !== "certificate" || roots?.type !== "roots") return;
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  for (const [file, text] of [
    [keyFile, own.key],
    [chainFile, own.chain],
    [rootsFile, roots.pem],
  ] as const)
    await replaceSecretFile(join(folder, file), text, mode);
}

function warn(error: unknown, { folder, log }: CertificateFilesOptions): void {
  log.error("the certificate cannot be written", { folder, cause: FairleadError.from(error).message });
}

/**
 * The certificate that a machine got when it was last here: a token of an hour is of no use after a restart. One that is
 * no longer valid is not shown, and the token alone counts.
 */
export function clientCertificate(folder: string, now: () => Date): Pick<ClientTls, "cert" | "key"> {
  try {
    const [cert, key] = [chainFile, keyFile].map((file) => readBoundedFile(join(folder, file), maxBytes));
    if (cert === undefined || key === undefined || parseCertificate(cert).validToDate <= now()) return {};
    return { cert, key };
  } catch {
    return {};
  }
}
