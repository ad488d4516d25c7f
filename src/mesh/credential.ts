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

export interface CredentialInputs {
  readonly secrets: Collection<KubeObject>;
  readonly configMaps: Collection<KubeObject>;
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

export function createCredentials({ secrets, configMaps }: CredentialInputs): Credentials {
  return {
    keyPair(namespace, name) {
      const secret = secrets.get(`${namespace}/${name}`);
      return secret && secretKeyPair(secret);
    },
    caCertificate(namespace, name) {
      const secret = secrets.get(`${namespace}/${name}`) ?? secrets.get(`${namespace}/${stripped(name)}`);
      return secret && secretCa(secret);
    },
    configMapCa(namespace, name) {
      const map = configMaps.get(`${namespace}/${stripped(name)}`);
      return map && configMapCa(map);
    },
    dockerConfig(namespace, name) {
      const secret = secrets.get(`${namespace}/${name}`);
      return secret && secretDockerConfig(secret);
    },
  };
}
