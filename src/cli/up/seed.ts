/** What `up` puts into an empty API: the mesh's namespace and config, and the webhooks. Made once, then the user's. */
import { urlInjector } from "../../install/index.ts";
import { type KindRef, type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError, readList, readRecord, wait } from "../../lib/index.ts";
import { istioKinds, type KubeObject } from "../../model/index.ts";
import { printYaml } from "../print.ts";

const { namespaces, configMaps, roles, roleBindings, validatingWebhooks, mutatingWebhooks } = kubeKinds;

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

/** The ordinary webhook configurations, pointing at the control plane's own port; the control plane fills in its root. */
export async function seedWebhooks(client: KubeClient, httpsAddress: string): Promise<void> {
  const url = `https://${httpsAddress}`;
  await seedWebhook(client, validatingWebhooks, onThisMachine(validator(url)));
  await seedWebhook(client, mutatingWebhooks, onThisMachine(urlInjector(url)));
}

/** `analyze` advises against addresses for a control plane of another cluster; this one is on the same machine. */
function onThisMachine(object: KubeObject): KubeObject {
  const annotations = { ...object.metadata.annotations, "galley.istio.io/analyze-suppress": "IST0164" };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

const validatorName = "istiod-default-validator";

const validator = (url: string): KubeObject => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name: validatorName, labels: { app: "istiod", istio: "istiod", "istio.io/rev": "default" } },
  webhooks: [
    {
      name: "validation.istio.io",
      clientConfig: { url: `${url}/validate` },
      rules: [...new Set(istioKinds.map((kind) => kind.group))].map((group) => ({
        operations: ["CREATE", "UPDATE"],
        apiGroups: [group],
        apiVersions: ["*"],
        resources: ["*"],
      })),
      failurePolicy: "Ignore",
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
    },
  ],
});

/** The port may be another one than at the last start; the root is the same, so it stays, and with it the policy. */
async function seedWebhook(client: KubeClient, kind: KindRef, object: KubeObject): Promise<void> {
  const existing = await client.find(kind, { name: object.metadata.name });
  if (!existing) return ensure(client, kind, object);
  const known = new Map(webhooksOf(existing).map((webhook) => [webhook["name"], webhook]));
  const webhooks = webhooksOf(object).map((webhook) => {
    const before = known.get(webhook["name"]) ?? {};
    const clientConfig = { ...readRecord(before["clientConfig"]), ...readRecord(webhook["clientConfig"]) };
    return { ...webhook, ...before, clientConfig };
  });
  if (JSON.stringify(webhooks) !== JSON.stringify(webhooksOf(existing)))
    await client.update(kind, { ...existing, webhooks });
}

const webhooksOf = (configuration: KubeObject): readonly Readonly<Record<string, unknown>>[] =>
  readList(configuration["webhooks"]).map(readRecord);

/** Until the control plane has put its root in, nothing is validated or injected: a mesh that says it is ready does both. */
export async function waitForWebhooks(client: KubeClient): Promise<void> {
  const deadline = performance.now() + 15_000;
  while (performance.now() < deadline) {
    const validating = await client.find(validatingWebhooks, { name: validatorName });
    const mutating = await client.find(mutatingWebhooks, { name: "istio-sidecar-injector" });
    const closed = JSON.stringify(validating ?? {}).includes('"failurePolicy":"Fail"');
    if (closed && JSON.stringify(mutating ?? {}).includes('"caBundle":"')) return;
    await wait(20);
  }
  throw new FairleadError("timeout", "the control plane did not take over its webhooks in 15 s", {
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
