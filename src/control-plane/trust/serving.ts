/**
 * Who vouches for the control plane in; the certificate that it shows on its own ports, and the roots that its callers are
 * told for it, out: of the mesh's own CA, of a signer of the Kubernetes API, or of files that somebody else renews.
 */
import { auditIssuance, type CertificateAuthority, type ServingCertificate } from "../../ca/index.ts";
import { FairleadError, type Logger } from "../../lib/index.ts";
import { parseCertificate, parseCertificates, parsePrivateKey, sameKey } from "../../pki/index.ts";

export interface ServingNames {
  readonly dns: readonly string[];
  readonly addresses: readonly string[];
}

export interface Serving {
  issue(names: ServingNames): Promise<ServingCertificate>;
  /** What agents, and the API that calls webhooks, are told to believe: PEM. */
  roots(): string;
  /** Calls back when there is another certificate to be had, or other roots; returns the way to stop. */
  onReplaced(listener: () => void): () => void;
}

/** A certificate, its key, and the roots that it leads to, which somebody else puts there: cert-manager, or an operator. */
export interface ServingFiles {
  readonly place: string;
  /** Undefined where they are not all there. */
  read(): { readonly cert: string; readonly key: string; readonly roots: string } | undefined;
  /** Calls back when they may have changed; returns the way to stop. */
  watch(changed: () => void): () => void;
}

export function servingOfAuthority(authority: CertificateAuthority): Serving {
  return { issue: authority.issueServing, roots: authority.roots, onReplaced: authority.onReplaced };
}

/** The same, with a line in the audit for each certificate. */
export function auditedServing(serving: Serving, log: Logger): Serving {
  return {
    ...serving,
    async issue(names) {
      const issued = await serving.issue(names);
      const certificate = parseCertificate(issued.cert);
      auditIssuance(log, { identity: [...names.dns, ...names.addresses].join(), certificate, client: "self" });
      return issued;
    },
  };
}

interface Held {
  readonly certificate: ServingCertificate;
  readonly roots: string;
}

/** Throws where they cannot be used at the start; later the last good ones stay. */
export function servingOfFiles(files: ServingFiles, log: Logger, signal: AbortSignal): Serving {
  const listeners = new Set<() => void>();
  let text = "";
  const read = (): Held => {
    const found = files.read();
    if (!found)
      throw new FairleadError(
        "not-found",
        `${files.place} does not have the control plane's certificate, key and root`,
        {
          hint: "wait for cert-manager to write them, or set ENABLE_CA_SERVER=true",
        },
      );
    text = JSON.stringify(found);
    const certificate = parseCertificate(found.cert);
    if (!sameKey(certificate.publicKey, parsePrivateKey(found.key).publicKey))
      throw new FairleadError("invalid", `${files.place}: the key is not that of the certificate`);
    if (parseCertificates(found.roots).length === 0)
      throw new FairleadError("invalid", `${files.place}: there is no root`);
    return { certificate: { ...found, notAfter: certificate.validToDate }, roots: found.roots };
  };
  let held = read();
  const stop = files.watch(() => {
    try {
      const found = files.read();
      if (!found || JSON.stringify(found) === text) return;
      held = read();
    } catch (error) {
      log.error(`${FairleadError.from(error).message}; the last certificate stays in use`);
      return;
    }
    for (const listener of listeners) listener();
  });
  signal.addEventListener("abort", stop, { once: true });
  return {
    issue: async () => held.certificate,
    roots: () => held.roots,
    onReplaced(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
