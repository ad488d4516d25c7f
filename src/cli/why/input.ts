/** Files or an API in; the objects, and where each of them stands, out. */
import { basename } from "node:path";
import { completed, type Locate } from "../../control-plane/index.ts";
import { createKubeClient, inNamespace, isClusterScoped, loadObjects } from "../../kube/index.ts";
import { FairleadError, isRecord } from "../../lib/index.ts";
import { type KubeObject, objectName } from "../../model/index.ts";
import { readApiObjects } from "../api-objects.ts";
import { type AccessFlags, clusterAccess } from "../cluster-access.ts";
import type { Io } from "../command.ts";
import { createLocate } from "./file-lines.ts";

export interface WhyObjects {
  readonly objects: readonly KubeObject[];
  readonly meshConfig: Readonly<Record<string, unknown>> | undefined;
  /** Lines are looked up only for what is shown. */
  readonly locate: Locate;
}

export interface FileObjects extends WhyObjects {
  /** As they stand in the files, before what a cluster would add. */
  readonly written: readonly KubeObject[];
  /** What was made up. */
  readonly notes: readonly string[];
}

export async function objectsOfFiles(paths: readonly string[], namespace: string): Promise<FileObjects> {
  let meshConfig: Readonly<Record<string, unknown>> | undefined;
  const loaded = await loadObjects(paths, {
    other(file, document) {
      if (isTestFile(document)) return;
      if (basename(file) !== "mesh.yaml" || !isRecord(document))
        throw new FairleadError(
          "invalid",
          `${file}: not a Kubernetes object (it needs apiVersion, kind and metadata.name)`,
        );
      meshConfig = document;
    },
  }).catch((error: unknown) => {
    // The parser shows the place; a line is enough here.
    const { code, message, hint } = FairleadError.from(error, "invalid");
    throw new FairleadError(code, message.split("\n")[0] ?? "", {
      cause: error,
      ...(hint === undefined ? {} : { hint }),
    });
  });
  const placed = loaded.map(({ file, object }) => ({ file, object: inNamespace(object, namespace) }));
  const files = new Map(placed.map(({ file, object }) => [objectName(object.kind, object.metadata), file]));
  const written = placed.map(({ object }) => object);
  return {
    ...completed(written),
    written,
    meshConfig,
    locate: createLocate({
      files,
      namespaceOf: (kind, written) => written ?? (isClusterScoped(kind) ? undefined : namespace),
    }),
  };
}

/** What `fairlead test` reads may stand beside the objects. */
export const isTestFile = (document: unknown): document is Readonly<Record<string, unknown>> =>
  isRecord(document) && Array.isArray(document.tests) && document.kind === undefined;

export async function objectsOfApi(flags: AccessFlags, io: Io): Promise<WhyObjects> {
  const access = await clusterAccess(flags, io);
  const client = createKubeClient(access);
  try {
    const objects = await readApiObjects(client, { io, at: access.server, isWhole: false });
    const versions = new Map(
      objects.map(({ kind, metadata }) => [objectName(kind, metadata), metadata.resourceVersion]),
    );
    return {
      objects,
      meshConfig: undefined,
      locate(object) {
        const resourceVersion = versions.get(object);
        return resourceVersion === undefined ? {} : { resourceVersion };
      },
    };
  } finally {
    client.close();
  }
}
