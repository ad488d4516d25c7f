/** Objects in; the mesh that they make, with what each part of it came from, ready for questions, out. */
import { createOffline, type Offline } from "../../control-plane/index.ts";
import type { Outcome } from "../../explain/index.ts";
import { objectName, type Profile } from "../../model/index.ts";
import { createEnvoyTypes } from "../../render/index.ts";
import type { WhyObjects } from "./input.ts";
import { createPlace, type Place } from "./place.ts";
import type { Sources } from "./provenance.ts";

export interface WhyMesh {
  readonly offline: Offline;
  readonly place: Place;
  readonly sources: Sources;
}

export async function openWhyMesh({ objects, meshConfig, locate }: WhyObjects, profile: Profile): Promise<WhyMesh> {
  const offline = createOffline({ objects, ...(meshConfig ? { meshConfig } : {}) });
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  if (objects.some(({ kind }) => kind === "EnvoyFilter")) await envoyTypes.load();
  const place = createPlace(offline, profile, new Date(), { envoyTypes });
  const byName = new Map(objects.map((object) => [objectName(object.kind, object.metadata), object]));
  return { offline, place, sources: { causes: place.causes, locate, objectOf: (name) => byName.get(name) } };
}

export const getsThrough = (outcome: Outcome): boolean =>
  outcome.kind === "reached" ||
  (outcome.kind === "answered" && outcome.status < 400 && outcome.grpcStatus === undefined);
