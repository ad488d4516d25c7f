/** An address and a client certificate in, the text of a kubeconfig out. */
import type { Credential } from "./authority.ts";

export interface KubeconfigParts {
  readonly server: string;
  readonly ca: string;
  readonly user: string;
  readonly credential: Credential;
}

/** JSON is YAML: nothing in it needs quoting rules of its own. */
export function formatKubeconfig(parts: KubeconfigParts): string {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "fairlead", cluster: { server: parts.server, "certificate-authority-data": base64(parts.ca) } }],
    users: [
      {
        name: parts.user,
        user: {
          "client-certificate-data": base64(parts.credential.certificate),
          "client-key-data": base64(parts.credential.key),
        },
      },
    ],
    contexts: [{ name: "fairlead", context: { cluster: "fairlead", user: parts.user, namespace: "default" } }],
    "current-context": "fairlead",
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
