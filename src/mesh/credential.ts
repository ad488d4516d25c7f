/** Secrets and ConfigMaps in; certificates and keys by the names that configs refer to them with, out. */
import type { Collection } from "../collections/index.ts";
import {
  type CaCertificate,
  configMapCa,
  type KeyPair,
  type KubeObject,
  secretCa,
  secretDockerConfig,
  secretKeyPair,
} from "../model/index.ts";

/** One that was asked for. */
export interface CredentialRead {
  readonly object: "Secret" | "ConfigMap";
  /** `namespace/name`. */
  readonly key: string;
  readonly part: "keyPair" | "ca";
  /** Undefined where it is not there. */
  readonly found: { readonly cert: Uint8Array; readonly key?: Uint8Array } | undefined;
}

export interface CredentialInputs {
  readonly secrets: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
  /** Told of each that is read. */
  onCredential?(read: CredentialRead): void;
}

export interface Credentials {
  keyPair(namespace: string, name: string): KeyPair | undefined;
  /** Of the Secret of that name, or, for `NAME-cacert`, of the compound Secret `NAME`. */
  caCertificate(namespace: string, name: string): CaCertificate | undefined;
  /** Of the ConfigMap `NAME`; a suffix `-cacert` is left away. */
  configMapCa(namespace: string, name: string): CaCertificate | undefined;
  /** What pulling an image needs. */
  dockerConfig(namespace: string, name: string): string | undefined;
}

const caSuffix = "-cacert";
const stripped = (name: string): string => (name.endsWith(caSuffix) ? name.slice(0, -caSuffix.length) : name);

export function createCredentials({ secrets, configMaps, onCredential }: CredentialInputs): Credentials {
  return {
    keyPair(namespace, name) {
      const key = `${namespace}/${name}`;
      const secret = secrets.get(key);
      const found = secret && secretKeyPair(secret);
      onCredential?.({ object: "Secret", key, part: "keyPair", found });
      return found;
    },
    caCertificate(namespace, name) {
      const [own, compound] = [`${namespace}/${name}`, `${namespace}/${stripped(name)}`];
      const first = secrets.get(own);
      const secret = first ?? secrets.get(compound);
      const found = secret && secretCa(secret);
      onCredential?.({ object: "Secret", key: first ? own : compound, part: "ca", found });
      return found;
    },
    configMapCa(namespace, name) {
      const key = `${namespace}/${stripped(name)}`;
      const map = configMaps.get(key);
      const found = map && configMapCa(map);
      onCredential?.({ object: "ConfigMap", key, part: "ca", found });
      return found;
    },
    dockerConfig(namespace, name) {
      const secret = secrets.get(`${namespace}/${name}`);
      return secret && secretDockerConfig(secret);
    },
  };
}
