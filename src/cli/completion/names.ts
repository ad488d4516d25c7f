/** A sort of names in; those that the API has out. Without an API, or with one that does not answer, there are none. */
import { createKubeClient, type KindRef, kindRef, kubeKinds } from "../../kube/index.ts";
import { kinds } from "../../model/index.ts";
import { type AccessFlags, clusterAccess } from "../cluster-access.ts";
import type { Io } from "../command.ts";
import { findKind } from "../objects.ts";

/** Who presses the key does not wait longer for an API that hangs. */
const patienceMs = 5_000;

export interface NameQuestion extends AccessFlags {
  /** As a person types it: `vs`, `pods`. */
  readonly type: string;
  readonly namespace: string;
  /** With `.NAMESPACE` behind, of all namespaces. */
  readonly qualified: boolean;
}

export async function liveNames(question: NameQuestion, io: Io): Promise<readonly string[]> {
  const signal = AbortSignal.any([io.signal, AbortSignal.timeout(patienceMs)]);
  const client = createKubeClient(await clusterAccess(question, io));
  const stop = (): void => client.close();
  signal.addEventListener("abort", stop);
  try {
    const kind: KindRef = knownKind(question.type) ?? (await findKind(client, question.type));
    const namespace = kind.namespaced && !question.qualified ? question.namespace : undefined;
    const { items } = await client.list(kind, { namespace, limit: 500, signal });
    return items.map(({ metadata }) =>
      question.qualified && metadata.namespace !== undefined ? `${metadata.name}.${metadata.namespace}` : metadata.name,
    );
  } catch {
    // Whatever is wrong is told when the command itself runs.
    return [];
  } finally {
    signal.removeEventListener("abort", stop);
    client.close();
  }
}

/** Without asking the API what it serves. */
function knownKind(type: string): KindRef | undefined {
  const found = kinds.find((kind) => [kind.plural, kind.singular, ...kind.shortNames].includes(type));
  return found ? kindRef(found) : Object.values(kubeKinds).find(({ plural }) => plural === type);
}

export const typeNames: readonly string[] = [
  ...Object.values(kubeKinds).map(({ plural }) => plural),
  ...kinds.map(({ plural }) => plural),
].sort();
