/** Objects in; the mesh that they make, with what each part of it came from, ready for questions, out. */
import { createOffline, createOfflineMesh, type ExplainedMesh, type Sources } from "../../control-plane/index.ts";
import { objectName, type Profile } from "../../model/index.ts";
import { createEnvoyTypes } from "../../render/index.ts";
import type { WhyObjects } from "./input.ts";

export interface WhyMesh {
  readonly explained: ExplainedMesh;
  readonly sources: Sources;
}

export async function openWhyMesh({ objects, meshConfig, locate }: WhyObjects, profile: Profile): Promise<WhyMesh> {
  const offline = createOffline({ objects, ...(meshConfig ? { meshConfig } : {}) });
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  if (objects.some(({ kind }) => kind === "EnvoyFilter")) await envoyTypes.load();
  const explained = createOfflineMesh(offline, profile, new Date(), { envoyTypes });
  const byName = new Map(objects.map((object) => [objectName(object.kind, object.metadata), object]));
  return { explained, sources: { causes: explained.causes, locate, objectOf: (name) => byName.get(name) } };
}
