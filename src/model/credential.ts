/** A Secret or ConfigMap in; the certificates and keys that it holds, as Istio reads them, out. */
import { readTextMap } from "../lib/index.ts";
import type { KubeObject } from "./object.ts";

/** Where somebody else may serve credentials beside a proxy, as Istio has it. */
export const credentialSocket = "./var/run/secrets/credential-uds/socket";

/** PEM, as it goes to Envoy. */
export interface KeyPair {
  readonly cert: Uint8Array;
  readonly key: Uint8Array;
  readonly crl?: Uint8Array;
  readonly staple?: Uint8Array;
}

export interface CaCertificate {
  readonly cert: Uint8Array;
  readonly crl?: Uint8Array;
}

type Data = (field: string) => Uint8Array | undefined;

/** Generic Secrets have `cert` and `key`, those of type TLS `tls.crt` and `tls.key`. */
export function secretKeyPair(secret: Readonly<Record<string, unknown>>): KeyPair | undefined {
  const data = secretData(secret);
  return pairOf(data, "cert", "key", "crl") ?? pairOf(data, "tls.crt", "tls.key", "ca.crl", "tls.ocsp-staple");
}

export function secretCa(secret: KubeObject): CaCertificate | undefined {
  return caOf(secretData(secret));
}

export function configMapCa(map: KubeObject): CaCertificate | undefined {
  const texts = readTextMap(map.data);
  return caOf((field) => nonEmpty(Object.hasOwn(texts, field) ? Buffer.from(texts[field] ?? "") : undefined));
}

/** What a registry asks of whoever pulls an image; only of Secrets that are declared as such. */
export function secretDockerConfig(secret: KubeObject): string | undefined {
  if (secret.type !== "kubernetes.io/dockerconfigjson") return undefined;
  const bytes = secretData(secret)(".dockerconfigjson");
  return bytes && Buffer.from(bytes).toString("utf8");
}

/** `data` is base64; `stringData` is what a file may hold before an API server has stored it. */
function secretData(secret: Readonly<Record<string, unknown>>): Data {
  const data = readTextMap(secret.data);
  const plain = readTextMap(secret.stringData);
  return (field) => {
    if (Object.hasOwn(plain, field)) return nonEmpty(Buffer.from(plain[field] ?? ""));
    return nonEmpty(Object.hasOwn(data, field) ? Buffer.from(data[field] ?? "", "base64") : undefined);
  };
}

const nonEmpty = (bytes: Uint8Array | undefined): Uint8Array | undefined =>
  bytes && bytes.length > 0 ? bytes : undefined;

function pairOf(
  data: Data,
  certField: string,
  keyField: string,
  crlField: string,
  stapleField?: string,
): KeyPair | undefined {
  const [cert, key, crl] = [data(certField), data(keyField), data(crlField)];
  const staple = stapleField === undefined ? undefined : data(stapleField);
  if (!cert || !key) return undefined;
  return { cert, key, ...(crl ? { crl } : {}), ...(staple ? { staple } : {}) };
}

function caOf(data: Data): CaCertificate | undefined {
  for (const [certField, crlField] of [
    ["cacert", "crl"],
    ["ca.crt", "ca.crl"],
  ] as const) {
    const [cert, crl] = [data(certField), data(crlField)];
    if (cert) return { cert, ...(crl ? { crl } : {}) };
  }
  return undefined;
}
