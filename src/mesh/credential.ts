/** Secrets and ConfigMaps in; the certificates and keys that they hold, as Istio reads them, out. */
import type { Collection } from "../collections/index.ts";
import { readRecord, readTextMap } from "../lib/index.ts";
import type { KubeObject } from "../model/index.ts";

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

export interface CredentialInputs {
  readonly secrets: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
}

export interface Credentials {
  keyPair(namespace: string, name: string): KeyPair | undefined;
  /** Of the Secret of that name, or, for `NAME-cacert`, of the compound Secret `NAME`. */
  caCertificate(namespace: string, name: string): CaCertificate | undefined;
  configMapCa(namespace: string, name: string): CaCertificate | undefined;
}

type Data = (field: string) => Uint8Array | undefined;

const caSuffix = "-cacert";
const stripped = (name: string): string => (name.endsWith(caSuffix) ? name.slice(0, -caSuffix.length) : name);

export function createCredentials({ secrets, configMaps }: CredentialInputs): Credentials {
  const secretData = (namespace: string, name: string): Data | undefined => {
    const secret = secrets.get(`${namespace}/${name}`);
    return secret && dataOf(secret);
  };
  return {
    keyPair(namespace, name) {
      const data = secretData(namespace, name);
      return (
        data && (pairOf(data, "cert", "key", "crl") ?? pairOf(data, "tls.crt", "tls.key", "ca.crl", "tls.ocsp-staple"))
      );
    },
    caCertificate(namespace, name) {
      const data = secretData(namespace, name) ?? secretData(namespace, stripped(name));
      return data && caOf(data);
    },
    configMapCa(namespace, name) {
      const map = configMaps.get(`${namespace}/${stripped(name)}`);
      const texts = readTextMap(map?.data);
      return (
        map && caOf((field) => nonEmpty(Object.hasOwn(texts, field) ? Buffer.from(texts[field] ?? "") : undefined))
      );
    },
  };
}

/** `data` is base64; `stringData` is what a file may hold before an API server has stored it. */
function dataOf(secret: KubeObject): Data {
  const data = readTextMap(secret.data);
  const plain = readTextMap(readRecord(secret).stringData);
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
