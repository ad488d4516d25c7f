/** MeshNetworks whose endpoints come from a registry that nobody has. */
import { readRecord } from "../../lib/index.ts";
import type { Analyser } from "./analyser.ts";
import type { AnalysedObject } from "./objects.ts";

export const meshNetworks: Analyser = {
  name: "meshnetworks.MeshNetworksAnalyzer",
  needsCluster: true,
  run({ objects, networks, report }) {
    const remote = objects.kube("Secret").filter(({ meta }) => meta.labels["istio/multiCluster"] === "true");
    const known = new Set([
      "Mock",
      "Kubernetes",
      "External",
      ...remote.flatMap(({ raw }) => Object.keys(readRecord(raw.data))),
    ]);
    for (const [name, { endpoints = [] }] of Object.entries(networks.networks ?? {}))
      endpoints.forEach(({ fromRegistry }, i) => {
        if (fromRegistry !== undefined && !known.has(fromRegistry))
          report(
            meshNetworksObject,
            "IST0126",
            `Unknown service registry ${fromRegistry} in network ${name}`,
            `networks.${name}.endpoints[${i}]`,
          );
      });
  },
};

/** MeshNetworks is no object of the API, but messages need one to be about. */
const meshNetworksObject: AnalysedObject = {
  kind: "MeshNetworks",
  meta: { name: "meshnetworks", namespace: "istio-system", labels: {}, annotations: {} },
  fullName: "istio-system/meshnetworks",
  spec: {},
  raw: {},
  fromFile: false,
};
