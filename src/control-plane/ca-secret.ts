/** The Secret `istio-ca-secret` in the API as the store of the certificate authority. */
import { type CaSecretStore, caSecretName, caSecretType } from "../ca/index.ts";
import { type KubeClient, kubeKinds } from "../kube/index.ts";
import { FairleadError, isRecord } from "../lib/index.ts";

const { secrets } = kubeKinds;

export function createCaSecretStore(client: KubeClient, namespace: string): CaSecretStore {
  return {
    async get() {
      const found = await client.find(secrets, { name: caSecretName, namespace });
      if (!found) return undefined;
      const data = isRecord(found.data) ? found.data : {};
      return Object.fromEntries(
        Object.entries(data).flatMap(([key, value]) =>
          typeof value === "string" ? [[key, Buffer.from(value, "base64").toString("utf8")]] : [],
        ),
      );
    },
    async create(data) {
      const encoded = Object.fromEntries(
        Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
      );
      try {
        await client.create(secrets, {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name: caSecretName, namespace },
          type: caSecretType,
          data: encoded,
        });
        return "created";
      } catch (error) {
        if (error instanceof FairleadError && error.code === "already-exists") return "exists";
        throw error;
      }
    },
  };
}
