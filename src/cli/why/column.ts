/** A Pod in; for each resource of its proxy the objects and fields that made it, worked out from the API's objects, out. */
import { createOffline } from "../../control-plane/index.ts";
import { FairleadError } from "../../lib/index.ts";
import { types } from "../../model/index.ts";
import { createEnvoyTypes, createRenderer } from "../../render/index.ts";
import type { Io } from "../command.ts";
import type { PodRef } from "../proxy-config/pod.ts";
import { accessOf, type SourceFlags } from "../proxy-config/source.ts";
import type { Why } from "../proxy-config/view.ts";
import { originsOf, originsText } from "./causes-text.ts";
import { objectsOfApi } from "./input.ts";

export async function whyColumn(pod: PodRef, flags: SourceFlags, io: Io): Promise<Why> {
  const { objects } = await objectsOfApi(accessOf(flags), io);
  const offline = createOffline({ objects });
  const envoyTypes = createEnvoyTypes(offline.mesh.graph);
  if (objects.some(({ kind }) => kind === "EnvoyFilter")) await envoyTypes.load();
  const proxy = offline.proxies().find(({ name, namespace }) => name === pod.name && namespace === pod.namespace);
  if (!proxy)
    throw new FairleadError("not-found", `${pod.name}.${pod.namespace} is no proxy of this API`, {
      hint: "--why reads the API that the Pod is in; name it with --kubeconfig",
    });
  const renderer = createRenderer(offline.mesh, offline.classOf(proxy), { envoyTypes });
  for (const type of Object.values(types)) renderer.set(type);
  return {
    text: (type, name, host) => originsText(originsOf(renderer.provenance(type, name, host), type)),
    data(type, name, host) {
      const provenance = renderer.provenance(type, name, host);
      const from = originsOf(provenance, type).map(({ object, fields }) => ({ object, fields: [...fields] }));
      return { name, ...(host === undefined ? {} : { host }), from, missing: [...provenance.missing] };
    },
  };
}
