/** Environment, flags and mounted files in; who signs for workloads and for the control plane, where that is not the mesh's own CA, out. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ExternalCaOptions, ServingFiles } from "../control-plane/index.ts";
import { FairleadError, readBoundedFile } from "../lib/index.ts";

export interface ServingFlags {
  readonly tlsCertFile?: string;
  readonly tlsKeyFile?: string;
  readonly caCertFile?: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const secrets = "/var/run/secrets";
/** Looked at rather than watched: mounted files are replaced as a whole. */
const lookMs = 2000;
const maxFileBytes = 1024 * 1024;
const signerPrefix = "k8s.io/";
const kubernetesApi = "ISTIOD_RA_KUBERNETES_API";

/** Flags first, then where istio-csr and cert-manager put them; undefined where neither has all three files. */
export function givenServing(
  flags: ServingFlags,
  hasOwnCa: boolean,
  folder = `${secrets}/istiod`,
): ServingFiles | undefined {
  const [cert, key] = [join(folder, "tls/tls.crt"), join(folder, "tls/tls.key")];
  const { tlsCertFile = "", tlsKeyFile = "", caCertFile = "" } = flags;
  const isFlagged = tlsCertFile !== "" && tlsKeyFile !== "" && caCertFile !== "";
  const roots = [join(folder, "ca/root-cert.pem"), join(folder, "tls/ca.crt")];
  const read = (): ReturnType<ServingFiles["read"]> =>
    isFlagged
      ? readAll(tlsCertFile, tlsKeyFile, caCertFile)
      : firstOf(roots.map((root) => () => readAll(cert, key, root)));
  // Without a CA here they are all there is: that they are not there yet is to be told.
  if (!isFlagged && hasOwnCa && !read()) return undefined;
  return {
    place: isFlagged ? "--tlsCertFile, --tlsKeyFile, --caCertFile" : folder,
    read,
    watch(changed) {
      const timer = setInterval(changed, lookMs).unref();
      return () => clearInterval(timer);
    },
  };
}

/** `EXTERNAL_CA` with what belongs to it; undefined where the mesh's own CA signs. */
export function givenSigner(env: Environment, folder = "/etc/external-ca-cert"): ExternalCaOptions | undefined {
  const { EXTERNAL_CA: type = "", K8S_SIGNER = "", CERT_SIGNER_DOMAIN = "", PILOT_CERT_PROVIDER = "" } = env;
  if (type === "") return undefined;
  if (type !== kubernetesApi)
    throw new FairleadError("usage", `EXTERNAL_CA: ${type} is not known`, { hint: `set it to ${kubernetesApi}` });
  const [own, ofKubernetes] = [join(folder, "root-cert.pem"), `${secrets}/kubernetes.io/serviceaccount/ca.crt`];
  // As istiod has it: without a domain the signer is one of Kubernetes itself, whose root every Pod is given.
  const file = existsSync(own) ? own : CERT_SIGNER_DOMAIN === "" ? ofKubernetes : undefined;
  return {
    signerName: K8S_SIGNER,
    domain: CERT_SIGNER_DOMAIN,
    rootsPem: file === undefined ? "" : (readFile(file) ?? ""),
    servingSigner: PILOT_CERT_PROVIDER.startsWith(signerPrefix) ? PILOT_CERT_PROVIDER.slice(signerPrefix.length) : "",
  };
}

function readAll(cert: string, key: string, roots: string): ReturnType<ServingFiles["read"]> {
  const [a, b, c] = [cert, key, roots].map(readFile);
  return a === undefined || b === undefined || c === undefined ? undefined : { cert: a, key: b, roots: c };
}

function firstOf<T>(ways: readonly (() => T | undefined)[]): T | undefined {
  for (const way of ways) {
    const found = way();
    if (found !== undefined) return found;
  }
  return undefined;
}

function readFile(path: string): string | undefined {
  return existsSync(path) ? readBoundedFile(path, maxFileBytes) : undefined;
}
