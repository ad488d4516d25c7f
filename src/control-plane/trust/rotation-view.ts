/** The Secret and the ConfigMap of a rotation in; how far it is, for people, out: without any key. */
import { parseRotationFacts, type RotationFacts } from "../../ca/index.ts";
import { type KubeClient, kubeKinds } from "../../kube/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { rotationName } from "./mesh-trust.ts";
import { stepOf, waitingIn } from "./rotation-progress.ts";
import { parseHolder, reportsIn } from "./rotation-reports.ts";
import { answerOf, type RotationAnswer, type RotationRequest, requestAnnotation } from "./rotation-store.ts";
import { decodeSecret } from "./secret-data.ts";

export interface RotationView {
  /** Undefined where there never was one. */
  readonly facts: RotationFacts | undefined;
  /** To the newest request. */
  readonly answer: RotationAnswer | undefined;
  /** How many proxies the step waits for, and the names of some, as `pod.namespace`. */
  readonly waiting: { readonly count: number; readonly names: readonly string[] };
}

const { secrets, configMaps } = kubeKinds;

export async function readRotationView(client: KubeClient, namespace: string, now: Date): Promise<RotationView> {
  const ref = { name: rotationName, namespace };
  const [secret, map] = await Promise.all([client.find(secrets, ref), client.find(configMaps, ref)]);
  const state = decodeSecret(secret)["state"];
  const facts = state === undefined ? undefined : parseRotationFacts(state);
  const step = facts && stepOf(facts);
  const reports = [...reportsIn(map, now).values()].filter((report) => report.step === step);
  const { count, names } = waitingIn(reports);
  return { facts, answer: answerOf(secret), waiting: { count, names: names.map(nameOf) } };
}

/** Asks whoever leads; the answer comes with a later view, under the same id. */
export async function requestRotation(client: KubeClient, namespace: string, request: RotationRequest): Promise<void> {
  const ref = { name: rotationName, namespace };
  const annotations = { [requestAnnotation]: JSON.stringify(request) };
  try {
    await client.patch(secrets, ref, "merge", { metadata: { annotations } });
  } catch (error) {
    if (FairleadError.from(error).code !== "not-found") throw error;
    const metadata = { ...ref, annotations };
    await client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque" });
  }
}

function nameOf(text: string): string {
  const holder = parseHolder(text);
  return holder ? `${holder.pod ?? holder.address}.${holder.identity.namespace}` : text;
}
