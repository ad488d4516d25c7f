/** An installation and an API in; the installation applied, step by step and told, out. */

import { deactivated, namespaceObject } from "../../install/index.ts";
import { type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError, isRecord, readList, readRecord, wait } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { applyObject } from "../objects.ts";
import type { Installation } from "./installation.ts";
import { writeWish } from "./wish.ts";

export interface ApplyOptions {
  readonly client: KubeClient;
  /** Put it in the place of an istiod that is there. */
  readonly inPlace: boolean;
  readonly readinessTimeoutMs: number;
  say(text: string): void;
  readonly signal: AbortSignal;
}

const managedBy = "app.kubernetes.io/managed-by";

export async function applyInstallation(installation: Installation, options: ApplyOptions): Promise<void> {
  const { client, say } = options;
  const { namespace } = installation;
  const foreign = await foreignControlPlane(installation, client);
  if (foreign && !options.inPlace)
    throw new FairleadError("already-exists", `Deployment ${namespace}/${foreign} is another control plane's`, {
      hint: "install beside it with --revision NAME, or put Fairlead in its place with --in-place",
    });
  if (!(await client.find(kubeKinds.namespaces, { name: namespace })))
    await applyObject(client, namespaceObject(namespace));
  await applyDefinitions(installation, options);
  for (const object of installation.objects) {
    // The mesh's settings and the injector's are the users' own, and go on to hold.
    if (foreign && object.kind === "ConfigMap") continue;
    if (object.kind === "ServiceAccount" && (await isOfOthers(client, object))) continue;
    const wanted = await withDefaultTag(client, object);
    await (foreign && object.kind === "Deployment" ? replace(client, object) : applyObject(client, wanted));
    say(`${object.kind} ${object.metadata.name}`);
  }
  await writeWish(client, installation);
  if (options.readinessTimeoutMs > 0) await untilAvailable(installation, options);
}

/** While a tag stands in for the unnamed revision, that one's own configuration selects nothing. */
async function withDefaultTag(client: KubeClient, object: KubeObject): Promise<KubeObject> {
  const isUnnamed = object.kind === "MutatingWebhookConfiguration" && object.metadata.name === "istio-sidecar-injector";
  const tag = isUnnamed && (await client.find(kubeKinds.mutatingWebhooks, { name: "istio-revision-tag-default" }));
  return tag ? deactivated(object) : object;
}

/** An account that revisions share is left alone where Istio made it, so that removing Fairlead leaves it too. */
async function isOfOthers(client: KubeClient, { metadata }: KubeObject): Promise<boolean> {
  if (metadata.labels?.["istio.io/rev"] !== undefined) return false;
  const found = await client.find(kubeKinds.serviceAccounts, metadata);
  return found !== undefined && found.metadata.labels?.[managedBy] !== "fairlead";
}

/** The name of a Deployment in our place that somebody else put there. */
async function foreignControlPlane(
  { objects, namespace }: Installation,
  client: KubeClient,
): Promise<string | undefined> {
  const name = objects.find(({ kind }) => kind === "Deployment")?.metadata.name ?? "";
  const found = await client.find(kubeKinds.deployments, { name, namespace });
  return found && found.metadata.labels?.[managedBy] !== "fairlead" ? name : undefined;
}

/** Those that are there, Istio's own or newer ones, are left alone. */
async function applyDefinitions({ definitions }: Installation, { client, say, signal }: ApplyOptions): Promise<void> {
  const made: string[] = [];
  for (const definition of definitions) {
    if (await client.find(kubeKinds.definitions, { name: definition.metadata.name })) continue;
    await applyObject(client, definition);
    made.push(definition.metadata.name);
  }
  say(`${made.length} resource definitions made, ${definitions.length - made.length} were there`);
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(60_000)]);
  for (const name of made) {
    while (!isTrue(await client.get(kubeKinds.definitions, { name }), "Established")) await wait(100, deadline);
  }
}

/** Whole, so that nothing of the other's containers remains. */
async function replace(client: KubeClient, object: KubeObject): Promise<void> {
  const { name, namespace } = object.metadata;
  const before = await client.get(kubeKinds.deployments, { name, namespace });
  const resourceVersion = before.metadata.resourceVersion;
  await client.update(kubeKinds.deployments, {
    ...object,
    metadata: { ...object.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) },
  });
}

async function untilAvailable(
  { objects, namespace }: Installation,
  { client, readinessTimeoutMs, say, signal }: ApplyOptions,
): Promise<void> {
  const name = objects.find(({ kind }) => kind === "Deployment")?.metadata.name ?? "";
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(readinessTimeoutMs)]);
  while (!deadline.aborted) {
    const found = await client.get(kubeKinds.deployments, { name, namespace });
    const observed = readRecord(found.status).observedGeneration;
    if (observed === found.metadata.generation && isTrue(found, "Available")) {
      say("the control plane is ready");
      return;
    }
    await wait(500, deadline).catch(() => {});
  }
  throw new FairleadError("timeout", `Deployment ${namespace}/${name} did not become available`, {
    hint: `kubectl -n ${namespace} describe deployment ${name}; --readiness-timeout waits longer`,
  });
}

function isTrue(object: KubeObject, type: string): boolean {
  const conditions = readList(readRecord(object.status).conditions).filter(isRecord);
  return conditions.some((condition) => condition.type === type && condition.status === "True");
}
