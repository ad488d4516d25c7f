/** A secret's name in, its content out, and news of changes: the workload's own credentials, and files that Envoy's configuration names. */
import { existsSync } from "node:fs";
import { rootCertificates } from "node:tls";
import { digest, type Logger, readBoundedFile } from "../../lib/index.ts";
import { formatBundle, parseCertificates } from "../../pki/index.ts";
import type { RevocationList } from "./revocation-list.ts";
import type { TrustBundle } from "./trust-bundle.ts";
import { watchFile } from "./watch-file.ts";
import type { WorkloadIdentity } from "./workload-identity.ts";

export type SecretContent =
  | { readonly type: "certificate"; readonly chain: string; readonly key: string }
  /** `revoked`: lists of certificates that are not to be believed, PEM. */
  | { readonly type: "roots"; readonly pem: string; readonly revoked?: string };

export interface Secret {
  readonly name: string;
  readonly content: SecretContent;
  /** Changes with the content, and tells nothing of it. */
  readonly version: string;
}

export interface SecretSource {
  /** Undefined while there is nothing to serve under the name. */
  get(name: string): Secret | undefined;
  /** Calls back when a secret of the name may have changed; returns the way to stop. */
  watch(name: string, changed: () => void): () => void;
}

export interface SecretSourceOptions {
  readonly identity: WorkloadIdentity;
  /** Roots believed besides those the CA answered with. */
  readonly extraRoots: () => string;
  /** What the control plane says of roots. */
  readonly trustBundle?: Pick<TrustBundle, "current" | "onChange">;
  /** What the mesh's CA has revoked. */
  readonly revoked?: RevocationList;
  readonly log: Logger;
}

/** The names that Istio gives to what a workload shows and believes. */
export const workloadName = "default";
export const rootsName = "ROOTCA";
const certificatePrefix = "file-cert:";
const rootsPrefix = "file-root:";
const maxFileBytes = 1024 * 1024;

/** What TLS to servers outside is checked with where the user names no CA: the machine's own list, or Node's where it has none. */
const systemRoots = "file-root:system";
const systemRootFiles = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

export function createSecretSource(options: SecretSourceOptions): SecretSource {
  const { identity, log } = options;
  const read = (name: string): SecretContent | undefined => {
    if (name === workloadName || name === rootsName) return ownContent(name, options);
    return fileContent(name, log);
  };
  return {
    get(name) {
      const content = read(name);
      return content && { name, content, version: digest(JSON.stringify(content)) };
    },
    watch(name, changed) {
      if (name === workloadName) return identity.onChange(changed);
      if (name === rootsName) {
        const { trustBundle, revoked } = options;
        const stops = [identity.onChange(changed), trustBundle?.onChange(changed), revoked?.watch(changed)];
        return () => stops.forEach((stop) => void stop?.());
      }
      const stops = filesOf(name).map((path) => watchFile(path, changed, log));
      return () => {
        for (const stop of stops) stop();
      };
    },
  };
}

function ownContent(name: string, options: SecretSourceOptions): SecretContent | undefined {
  const credentials = options.identity.current();
  if (!credentials) return undefined;
  if (name === workloadName) return { type: "certificate", chain: credentials.chain, key: credentials.key };
  const told = distinctRoots(credentials.roots, options.trustBundle?.current() ?? "");
  const revoked = options.revoked?.current() ?? "";
  const pem = credentials.roots + told + options.extraRoots();
  return { type: "roots", pem, ...(revoked === "" ? {} : { revoked }) };
}

/** Those of the second text that the first has not. */
function distinctRoots(known: string, further: string): string {
  if (further === "") return "";
  const had = parseCertificates(known);
  return formatBundle(parseCertificates(further).filter((root) => !had.some((own) => own.raw.equals(root.raw))));
}

/** `file-cert:CHAIN~KEY` and `file-root:ROOTS`; no other name means a file. */
function filesOf(name: string): readonly string[] {
  if (name === systemRoots) return systemRootFiles.filter((path) => existsSync(path)).slice(0, 1);
  if (name.startsWith(rootsPrefix)) return [name.slice(rootsPrefix.length)];
  if (!name.startsWith(certificatePrefix)) return [];
  const parts = name.slice(certificatePrefix.length).split("~");
  return parts.length === 2 ? parts : [];
}

function fileContent(name: string, log: Logger): SecretContent | undefined {
  const paths = filesOf(name);
  try {
    const [first, second] = paths.map((path) => readBoundedFile(path, maxFileBytes));
    if (first === undefined)
      return name === systemRoots ? { type: "roots", pem: rootCertificates.join("\n") } : undefined;
    return second === undefined ? { type: "roots", pem: first } : { type: "certificate", chain: first, key: second };
  } catch {
    log.warn("a secret's file cannot be read", { name });
    return undefined;
  }
}
