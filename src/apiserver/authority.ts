/** The API's own certificate authority, kept in the data folder: certificates for the server and for its users out. */
import type { KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { FairleadError, systemCode } from "../lib/index.ts";
import {
  createSecretFile,
  formatCertificate,
  formatPrivateKey,
  generateKey,
  issueCertificate,
  type KeyPair,
  parseCertificate,
  parsePrivateKey,
  readSecretFile,
  replaceSecretFile,
} from "../pki/index.ts";

export interface Credential {
  readonly certificate: string;
  readonly key: string;
}

export interface Authority {
  /** PEM; what clients trust. */
  readonly ca: string;
  issueServer(names: readonly string[]): Promise<Credential>;
  /** A user whose name is in the certificate, in at most one group. */
  issueClient(user: string, group: string | undefined): Promise<Credential>;
}

const yearMs = 365 * 24 * 3600_000;

export async function openAuthority(dataDir: string, now: () => Date): Promise<Authority> {
  const root = await loadRoot(dataDir, now);
  const issue = async (options: {
    profile: "server" | "client";
    commonName: string;
    organization?: string | undefined;
    names?: readonly string[];
  }): Promise<Credential> => {
    const pair = await generateKey();
    const certificate = issueCertificate({
      profile: options.profile,
      subject: {
        commonName: options.commonName,
        ...(options.organization === undefined ? {} : { organization: options.organization }),
      },
      altNames: (options.names ?? []).map((value) => ({ type: isIP(value) ? "ip" : "dns", value })),
      publicKey: pair.publicKey,
      signer: root,
      now: now(),
      ttlMs: yearMs,
    });
    return { certificate: formatCertificate(certificate), key: formatPrivateKey(pair.privateKey) };
  };
  return {
    ca: formatCertificate(root.certificate),
    issueServer: (names) => issue({ profile: "server", commonName: "fairlead-api", names }),
    issueClient: (user, group) => issue({ profile: "client", commonName: user, organization: group }),
  };
}

async function loadRoot(dataDir: string, now: () => Date): Promise<{ certificate: X509Certificate; key: KeyObject }> {
  const [certFile, keyFile] = [join(dataDir, "api-ca.crt"), join(dataDir, "api-ca.key")];
  const pem = await readFile(certFile, "utf8").catch((error: unknown) => {
    if (systemCode(error) === "ENOENT") return undefined;
    throw new FairleadError("storage", `cannot read ${certFile}`, { cause: error });
  });
  if (pem !== undefined)
    return { certificate: parseCertificate(pem), key: parsePrivateKey(await readSecretFile(keyFile)).privateKey };
  // The key first: a certificate without its key would be a folder that can never be opened again.
  const pair = await loadOrCreateKey(keyFile);
  const certificate = issueCertificate({
    profile: "ca",
    subject: { commonName: "fairlead-api-ca" },
    publicKey: pair.publicKey,
    signer: { certificate: undefined, key: pair.privateKey },
    now: now(),
    ttlMs: 10 * yearMs,
  });
  await replaceSecretFile(certFile, formatCertificate(certificate));
  return { certificate, key: pair.privateKey };
}

/** The key of the file; a new one, and its file, where there is none. */
export async function loadOrCreateKey(path: string): Promise<KeyPair> {
  try {
    return parsePrivateKey(await readSecretFile(path));
  } catch (error) {
    if (!(error instanceof FairleadError) || error.code !== "not-found") throw error;
  }
  const pair = await generateKey("ecdsa-p256");
  await createSecretFile(path, formatPrivateKey(pair.privateKey));
  return pair;
}
