/** Objects whose owners ask for something that nothing here does: said, never passed over. */
import {
  defaultMeshConfig,
  istioKinds,
  type MeshConfigSpec,
  meshConfigSpec,
  meshNetworksSpec,
  proxyConfigValues,
} from "../../model/index.ts";
import { decodeProxyConfig } from "../decode.ts";
import { type UnhonouredField, unhonouredFields, unhonouredReasons } from "../unhonoured.ts";
import type { Analyser, Analysis } from "./analyser.ts";
import type { AnalysedObject } from "./objects.ts";

const code = "FLD0001";

export const unhonoured: Analyser = {
  name: "fairlead.UnhonouredFieldAnalyzer",
  needsCluster: false,
  run(analysis) {
    for (const kind of istioKinds)
      for (const object of analysis.objects.of(kind))
        tell(analysis, object, unhonouredFields(kind.spec, object.spec, "spec"));
    const annotation = "proxy.istio.io/config";
    for (const object of analysis.objects.kube("Pod")) {
      const text = object.meta.annotations[annotation];
      const config = text === undefined ? undefined : decodeProxyConfig(text).ok;
      if (config) tell(analysis, object, unhonouredFields(proxyConfigValues, config, ""), `annotation ${annotation}: `);
    }
    const { mesh, networks } = analysis.written;
    const asked = unhonouredFields(meshConfigSpec, mesh, "").filter(({ path }) => !isDefault(mesh, path));
    tell(analysis, meshObject("MeshConfig", "meshconfig"), asked);
    tell(analysis, meshObject("MeshNetworks", "meshnetworks"), unhonouredFields(meshNetworksSpec, networks, ""));
  },
};

/** Whoever writes down what Istio assumes anyway, as installers do, asks for nothing. */
function isDefault(mesh: MeshConfigSpec, path: string): boolean {
  const field = path as keyof MeshConfigSpec;
  return field in mesh && mesh[field] === defaultMeshConfig[field];
}

function tell(
  { report }: Analysis,
  object: AnalysedObject<unknown>,
  fields: readonly UnhonouredField[],
  place = "",
): void {
  for (const { path, reason } of fields)
    report(object, code, `${place}${path} is not honoured: ${unhonouredReasons[reason]}.`, path.split("=")[0]);
}

/** No object of the API, but messages need one to be about. */
const meshObject = (kind: string, name: string): AnalysedObject => ({
  kind,
  meta: { name, namespace: "istio-system", labels: {}, annotations: {} },
  fullName: `istio-system/${name}`,
  spec: {},
  raw: {},
  fromFile: false,
});
