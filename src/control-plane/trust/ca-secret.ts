/** The Secret `istio-ca-secret` in the API as the store of the certificate authority. */
import {
  type CaSecretStore,
  caSecretName,
  caSecretType,
  formatSigningBundle,
  type SigningBundle,
} from "../../ca/index.ts";
import { type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { decodeSecret, encodeSecret } from "./secret-data.ts";

const { secrets } = kubeKinds;

export function createCaSecretStore(client: KubeClient, namespace: string): CaSecretStore {
  return {
    async get() {
      const found = await client.find(secrets, { name: caSecretName, namespace });
      return found && decodeSecret(found);
    },
    async create(data) {
      try {
        await client.create(secrets, {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: caSecretName, namespace },
          type: caSecretType,
          data: encodeSecret(data),
        });
        return "created";
      } catch (error) {
        if (error instanceof FairleadError && error.code === "already-exists") return "exists";
        throw error;
      }
    },
  };
}

/** Puts another CA in place of the one that was there. */
export async function replaceCaSecret(
  client: KubeClient,
  namespace: string,
  bundle: SigningBundle,
  signal: AbortSignal,
): Promise<void> {
  const found = await client.get(secrets, { name: caSecretName, namespace }, signal);
  const data = encodeSecret({ ...decodeSecret(found), ...formatSigningBundle(bundle) });
  await client.update(secrets, { ...found, data }, { signal });
}
