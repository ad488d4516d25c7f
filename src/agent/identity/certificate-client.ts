/** A new key and a token in, credentials from the control plane's CA out, over TLS that trusts a root file. */
import { basename } from "node:path";
import { create } from "@bufbuild/protobuf";
import { IstioCertificateRequestSchema, IstioCertificateService } from "../../gen/istio/auth_pb.js";
import { FairleadError, readBoundedFile } from "../../lib/index.ts";
import {
  createCsr,
  formatPrivateKey,
  generateKey,
  type KeyAlgorithm,
  parseCertificate,
  type SubjectAltName,
  sameKey,
} from "../../pki/index.ts";
import { type ClientTls, createRpcClient, protoMethod, type RpcClientOptions } from "../../rpc/index.ts";
import type { WorkloadCredentials } from "./credentials.ts";

export interface CertificateClientOptions {
  readonly target: RpcClientOptions["target"];
  readonly tls: () => ClientTls;
  /** Headers with the bearer token, read anew for each call. */
  readonly metadata: () => Promise<Readonly<Record<string, string>>>;
  readonly algorithm: KeyAlgorithm;
  readonly ttlMs: number;
  /** The name to ask for; the CA goes by the token, other CAs may look here. */
  readonly altNames: readonly SubjectAltName[];
  /** Which of the signers behind the CA is meant (ISTIO_META_CERT_SIGNER); empty for the usual one. */
  readonly certSigner?: string;
}

export type FetchCredentials = (signal: AbortSignal) => Promise<WorkloadCredentials>;

/** Larger than any token, and than the roots of a mesh. */
const maxBytes = 1024 * 1024;
const method = protoMethod(IstioCertificateService.method.createCertificate);

export function createCertificateClient(options: CertificateClientOptions): FetchCredentials {
  return async (signal) => {
    const key = await generateKey(options.algorithm);
    const csr = createCsr({ key, altNames: options.altNames });
    const request = create(IstioCertificateRequestSchema, {
      csr,
      validityDuration: BigInt(Math.round(options.ttlMs / 1000)),
      ...(options.certSigner ? { metadata: { CertSigner: options.certSigner } } : {}),
    });
    const client = createRpcClient(options);
    try {
      const { certChain } = await client.unary(method, request, { signal, timeoutMs: 10_000 });
      const roots = certChain.at(-1);
      const [leaf] = certChain;
      if (certChain.length < 2 || leaf === undefined || roots === undefined)
        throw new FairleadError("invalid", "the CA answered without a certificate and its root");
      const certificate = parseCertificate(leaf);
      if (!sameKey(certificate.publicKey, key.publicKey))
        throw new FairleadError("invalid", "the CA answered with a certificate of another key");
      return {
        chain: certChain.slice(0, -1).map(withNewline).join(""),
        key: formatPrivateKey(key.privateKey),
        roots: withNewline(roots),
        notAfter: certificate.validToDate,
      };
    } finally {
      client.close();
    }
  };
}

/** The word for the roots of the machine, for control planes with public certificates. */
const systemRoots = "SYSTEM";

/** Trust in the control plane: the roots of a file, read at each connect so that a new root counts at once. */
export function trustFile(path: string, serverName: string | undefined): () => ClientTls {
  const name = serverName === undefined ? {} : { serverName };
  return () => {
    if (basename(path) === systemRoots) return name;
    try {
      return { ca: readBoundedFile(path, maxBytes), ...name };
    } catch (cause) {
      throw new FairleadError("not-found", `the root certificate ${path} cannot be read`, {
        cause,
        hint: "mount ConfigMap istio-ca-root-cert there, or name a file in XDS_ROOT_CA",
      });
    }
  };
}

/** `authorization` from a token file, which its owner renews in place; it may be missing where a certificate is shown. */
export function tokenMetadata(
  path: string,
  mayBeMissing: () => boolean = () => false,
): () => Promise<Readonly<Record<string, string>>> {
  return async () => {
    if (path === "") return {};
    try {
      return { authorization: `Bearer ${readBoundedFile(path, maxBytes).trim()}` };
    } catch (cause) {
      if (mayBeMissing()) return {};
      throw new FairleadError("not-found", `the service-account token ${path} cannot be read`, {
        cause,
        hint: "mount a projected token with audience istio-ca",
      });
    }
  };
}

function withNewline(pem: string): string {
  return pem.endsWith("\n") ? pem : `${pem}\n`;
}
