/** A rotation in, the Secret that keeps it written, against the version that was read, out; and what users ask of it. */
import { formatRotation, type Rotation } from "../../ca/index.ts";
import { type KubeClient, kubeKinds } from "../../kube/index.ts";
import { isRecord, parseJson, readText, readTexts } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import { rotationName } from "./mesh-trust.ts";
import { encodeSecret } from "./secret-data.ts";

const { secrets } = kubeKinds;

/** Annotations by which `fairlead ca rotate-root` asks, and is answered. */
export const requestAnnotation = "fairlead.dev/root-rotation-request";
const answerAnnotation = "fairlead.dev/root-rotation-answer";

export interface RotationRequest {
  readonly id: string;
  readonly action: "start" | "rollback" | "ignore";
  /** As `pod.namespace`, or all of an account as `namespace/account`. */
  readonly proxies: readonly string[];
}

export interface RotationAnswer {
  /** Of the request. */
  readonly id: string;
  /** Empty where it was done. */
  readonly refused: string;
}

/** The request that has not been answered yet. */
export function openRequest(secret: KubeObject | undefined): RotationRequest | undefined {
  const { [requestAnnotation]: asked, [answerAnnotation]: answered } = secret?.metadata.annotations ?? {};
  const request = record(asked);
  const id = readText(request["id"]);
  const action = request["action"];
  if (id === "" || id === readText(record(answered)["id"])) return undefined;
  if (action !== "start" && action !== "rollback" && action !== "ignore") return undefined;
  return { id, action, proxies: readTexts(request["proxies"]) };
}

/** The newest answer. */
export function answerOf(secret: KubeObject | undefined): RotationAnswer | undefined {
  const answer = record(secret?.metadata.annotations?.[answerAnnotation]);
  const id = readText(answer["id"]);
  return id === "" ? undefined : { id, refused: readText(answer["refused"]) };
}

export interface RotationWrite {
  readonly rotation?: Rotation | undefined;
  readonly answer?: RotationAnswer | undefined;
}

export async function writeRotation(
  client: KubeClient,
  namespace: string,
  found: KubeObject | undefined,
  { rotation, answer }: RotationWrite,
  signal: AbortSignal,
): Promise<void> {
  const data = rotation ? { data: encodeSecret(formatRotation(rotation)) } : {};
  const annotations = {
    ...found?.metadata.annotations,
    ...(answer ? { [answerAnnotation]: JSON.stringify(answer) } : {}),
  };
  if (found) {
    await client.update(secrets, { ...found, ...data, metadata: { ...found.metadata, annotations } }, { signal });
    return;
  }
  const metadata = { name: rotationName, namespace, annotations };
  await client.create(secrets, { apiVersion: "v1", kind: "Secret", metadata, type: "Opaque", ...data }, { signal });
}

function record(text: string | undefined): Readonly<Record<string, unknown>> {
  if (text === undefined) return {};
  try {
    const value = parseJson(text);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}
