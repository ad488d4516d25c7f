/** What `up` puts into an empty API: the mesh's namespace and config, and the validation webhook. Made once, then the user's. */
import { type KindRef, type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError, isRecord, wait } from "../../lib/index.ts";
import { istioKinds, type KubeObject } from "../../model/index.ts";
import { printYaml } from "../print.ts";

const { namespaces, configMaps, roles, roleBindings, validatingWebhooks: webhooks } = kubeKinds;

/** The control plane keeps its root in a Secret of its own namespace, and may write Secrets nowhere else. */
const secretRole: KubeObject = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "Role",
  metadata: { name: "istiod", namespace: "istio-system" },
  rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["create", "get", "list", "watch", "update", "patch"] }],
};
const secretRoleBinding = (user: string): KubeObject => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "RoleBinding",
  metadata: { name: "istiod", namespace: "istio-system" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "istiod" },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
});

export async function seedApi(client: KubeClient, controlPlaneUser: string): Promise<void> {
  for (const name of ["default", "istio-system"])
    await ensure(client, namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await ensure(client, roles, secretRole);
  await ensure(client, roleBindings, secretRoleBinding(controlPlaneUser));
  await ensure(client, configMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "istio", namespace: "istio-system", labels: { "istio.io/rev": "default" } },
    data: { mesh: printYaml(meshConfig), meshNetworks: "networks: {}\n" },
  });
}

/** Istio's defaults, plus what makes a first look worth while: access logs and the standard metrics. */
const meshConfig = {
  accessLogFile: "/dev/stdout",
  defaultProviders: { metrics: ["prometheus"] },
  enablePrometheusMerge: true,
  rootNamespace: "istio-system",
  trustDomain: "cluster.local",
};

/** The ordinary webhook configuration, pointing at the control plane's own port; the control plane fills in its root. */
export async function seedWebhook(client: KubeClient, httpsAddress: string): Promise<void> {
  const url = `https://${httpsAddress}/validate`;
  const webhook = {
    name: "validation.istio.io",
    clientConfig: { url },
    rules: [...new Set(istioKinds.map((kind) => kind.group))].map((group) => ({
      operations: ["CREATE", "UPDATE"],
      apiGroups: [group],
      apiVersions: ["*"],
      resources: ["*"],
    })),
    failurePolicy: "Ignore",
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  const object: KubeObject = {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: {
      name: "istiod-default-validator",
      labels: { app: "istiod", istio: "istiod", "istio.io/rev": "default" },
    },
    webhooks: [webhook],
  };
  const existing = await client.find(webhooks, { name: object.metadata.name });
  if (!existing) return ensure(client, webhooks, object);
  // The port may be another one than at the last start; the root is the same, so it stays, and with it the policy.
  const [known] = Array.isArray(existing["webhooks"]) ? existing["webhooks"].filter(isRecord) : [];
  const clientConfig = known && isRecord(known["clientConfig"]) ? known["clientConfig"] : {};
  if (clientConfig["url"] === url) return;
  const kept = { ...webhook, ...known, clientConfig: { ...clientConfig, url } };
  await client.update(webhooks, { ...existing, webhooks: [kept] });
}

/** Until the control plane has put its root in, nothing is validated: a mesh that says it is ready validates. */
export async function waitForWebhook(client: KubeClient): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (performance.now() < deadline) {
    const found = await client.find(webhooks, { name: "istiod-default-validator" });
    if (found && JSON.stringify(found).includes('"failurePolicy":"Fail"')) return;
    await wait(20);
  }
  throw new FairleadError("timeout", "the control plane did not take over its webhook in 15 s", {
    hint: "see its log above",
  });
}

async function ensure(client: KubeClient, kind: KindRef, object: KubeObject): Promise<void> {
  const { name, namespace } = object.metadata;
  if (await client.find(kind, { name, namespace })) return;
  await client.create(kind, object).catch((error: unknown) => {
    if (!(error instanceof FairleadError) || error.code !== "already-exists") throw error;
  });
}
