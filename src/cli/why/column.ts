/** A proxy in; for each of its resources the objects and fields that made it out: from the API's objects, or by its control plane. */
import type { Provenance } from "../../collections/index.ts";
import { type CausesOf, createOffline } from "../../control-plane/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { type ResourceType, types } from "../../model/index.ts";
import { createEnvoyTypes, createRenderer } from "../../render/index.ts";
import type { Io } from "../command.ts";
import { askPlaneOf } from "../planes.ts";
import type { PodRef } from "../proxy-config/pod.ts";
import { accessOf, planeOf, type SourceFlags } from "../proxy-config/source.ts";
import type { Why } from "../proxy-config/view.ts";
import { originsOf, originsText } from "./causes-text.ts";
import { objectsOfApi } from "./input.ts";

type ProvenanceOf = (type: ResourceType, name: string, host?: string) => Provenance;

/** A proxy without a Pod, such as a virtual machine's, is known to whom it is connected. */
export async function whyColumn(pod: PodRef, flags: SourceFlags, io: Io): Promise<Why> {
  const provenance = (await workedOut(pod, flags, io)) ?? (await told(pod, flags, io));
  return {
    text: (type, name, host) => originsText(originsOf(provenance(type, name, host), type)),
    data(type, name, host) {
      const own = provenance(type, name, host);
      const from = originsOf(own, type).map(({ object, fields }) => ({ object, fields: [...fields] }));
      return { name, ...(host === undefined ? {} : { host }), from, missing: [...own.missing] };
    },
  };
}

async function workedOut(pod: PodRef, flags: SourceFlags, io: Io): Promise<ProvenanceOf | undefined> {
  const { objects } = await objectsOfApi(accessOf(flags), io);
  const offline = createOffline({ objects });
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  if (objects.some(({ kind }) => kind === "EnvoyFilter")) await envoyTypes.load();
  const proxy = offline.proxies().find(({ name, namespace }) => name === pod.name && namespace === pod.namespace);
  if (!proxy) return undefined;
  const renderer = createRenderer(offline.mesh, offline.classOf(proxy), { envoyTypes });
  for (const type of Object.values(types)) renderer.set(type);
  return renderer.provenance;
}

async function told(pod: PodRef, flags: SourceFlags, io: Io): Promise<ProvenanceOf> {
  const name = `${pod.name}.${pod.namespace}`;
  const answer = await askPlaneOf(planeOf(flags), name, "causez", io).catch((cause: unknown) => {
    throw new FairleadError("not-found", `${name} is no proxy of this API, and no control plane knows it`, {
      hint: "--why reads the API that the Pod is in; name it with --kubeconfig, or its control plane with --control-plane",
      cause,
    });
  });
  const known = new Map(
    (Array.isArray(answer) ? (answer as readonly CausesOf[]) : []).map((one) => [
      keyOf(one.type, one.name, one.host),
      one,
    ]),
  );
  return (type, name, host) => known.get(keyOf(type, name, host)) ?? known.get(keyOf(type, name)) ?? nothing;
}

const nothing: Provenance = { causes: [], missing: [] };

const keyOf = (type: ResourceType, name: string, host = ""): string => JSON.stringify([type, name, host]);
