/** Objects as they are, and as a change would make them, in; what analysers say of the second only out, the worst first. */
import {
  type AnalysisMessage,
  analyserNames,
  analyze,
  decodeMeshConfig,
  decodeMeshNetworks,
} from "../../config/index.ts";
import { readRecord, readText } from "../../lib/index.ts";
import { type KubeObject, objectKey, objectName } from "../../model/index.ts";
import type { DiffAnalysis } from "../../read-api/index.ts";

export interface NewMessages {
  of(base: readonly KubeObject[], after: readonly KubeObject[]): DiffAnalysis;
  /** To be called when the objects as they are have become others. */
  forget(): void;
}

/** The count is always whole. */
const maxMessages = 100;

/** What validation says of an object by itself is among the refusals and warnings already. */
const only = analyserNames.filter((name) => !name.startsWith("schema."));

const levels = { Error: "error", Warning: "warning", Info: "info" } as const;

export function createNewMessages(configMap: string): NewMessages {
  /** Worked out once for all that is typed. Both are looked at as of one moment: a certificate may end between them. */
  let known: { readonly now: Date; readonly keys: ReadonlySet<string> } | undefined;

  const analysed = (cluster: readonly KubeObject[], now: Date): readonly AnalysisMessage[] =>
    analyze({ files: [], cluster }, { now, own: true, only, ...meshOf(cluster, configMap) });

  function knownOf(base: readonly KubeObject[]): NonNullable<typeof known> {
    const now = new Date();
    return { now, keys: new Set(analysed(base, now).map(keyOfMessage)) };
  }

  return {
    of(base, after) {
      known ??= knownOf(base);
      const { now, keys } = known;
      const found = analysed(after, now).filter((message) => !keys.has(keyOfMessage(message)));
      const messages = found.slice(0, maxMessages).map(({ code, level, message, path, ...of }) => ({
        ...{ code, level: levels[level], object: objectName(of.kind, of), message },
        ...(path === undefined ? {} : { field: path }),
      }));
      return { count: found.length, messages };
    },
    forget() {
      known = undefined;
    },
  };
}

const keyOfMessage = ({ code, kind, namespace, name, message }: AnalysisMessage): string =>
  JSON.stringify([code, kind, namespace, name, message]);

function meshOf(objects: readonly KubeObject[], configMap: string) {
  const found = objects.find(({ kind, metadata }) => kind === "ConfigMap" && objectKey(metadata) === configMap);
  const data = readRecord(found?.data);
  return {
    mesh: decodeMeshConfig(readText(data.mesh)).ok ?? {},
    networks: decodeMeshNetworks(readText(data.meshNetworks)).ok ?? {},
  };
}
