/** The user of a kubeconfig in; the bearer by which a control plane learns who that is out. */
import { randomBytes } from "node:crypto";
import {
  type ClusterAccess,
  claimBearer,
  claimName,
  claimSigner,
  type KubeClient,
  kubeKinds,
} from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { createCsr, generateKey } from "../../pki/index.ts";

export interface ClusterCredentials {
  /** `refused`: the last one was. */
  bearer(refused: boolean): Promise<string>;
  /** Nothing that was made for it is left. */
  end(): Promise<void>;
}

/** Users with a token, of a plugin too, show that; those with a certificate have the API note who they are. */
export async function clusterCredentials(access: ClusterAccess, client: KubeClient): Promise<ClusterCredentials> {
  const { token } = await access.credentials(false);
  if (token === undefined) return claimed(client);
  return { bearer: async (refused) => (await access.credentials(refused)).token ?? "", end: async () => {} };
}

async function claimed(client: KubeClient): Promise<ClusterCredentials> {
  let current = await claim(client);
  const end = (): Promise<void> => client.delete(kubeKinds.certificateSigningRequests, { name: claimName(current) });
  return {
    async bearer(refused) {
      if (refused) {
        await end().catch(() => {});
        current = await claim(client);
      }
      return claimBearer(current);
    },
    end,
  };
}

async function claim(client: KubeClient): Promise<string> {
  const secret = randomBytes(32).toString("base64url");
  const request = createCsr({ key: await generateKey(), subject: { commonName: "fairlead-dashboard" } });
  const object = {
    apiVersion: "certificates.k8s.io/v1",
    kind: "CertificateSigningRequest",
    metadata: { name: claimName(secret) },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: claimSigner,
      usages: ["client auth"],
    },
  };
  await client.create(kubeKinds.certificateSigningRequests, object).catch((cause: unknown) => {
    const { code, message } = FairleadError.from(cause);
    if (code !== "forbidden") throw cause;
    throw new FairleadError("forbidden", `the control plane cannot learn who you are: ${message}`, {
      hint: "your user has a certificate and no token: it needs the right to create certificatesigningrequests, or use a user with a token (`kubectl create token`)",
      cause,
    });
  });
  return secret;
}
