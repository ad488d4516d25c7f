/** The kinds that are served in; an APIService for each group and version, all of them served by this API itself, out. */
import type { KubeObject } from "../../model/index.ts";
import { type ApiKind, apiVersionOf } from "../kind.ts";
import { apiServiceKind } from "./kinds.ts";

export function apiServices(kinds: readonly ApiKind[], since: string): readonly KubeObject[] {
  const versions = new Map(kinds.map(({ group, version }) => [`${version}.${group}`, { group, version }]));
  return [...versions].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, of]) => apiService(name, of, since));
}

function apiService(name: string, { group, version }: Pick<ApiKind, "group" | "version">, since: string): KubeObject {
  return {
    apiVersion: apiVersionOf(apiServiceKind),
    kind: apiServiceKind.kind,
    metadata: { name, creationTimestamp: since, labels: { "kube-aggregator.kubernetes.io/automanaged": "true" } },
    spec: {
      ...(group === "" ? {} : { group }),
      version,
      groupPriorityMinimum: group === "" ? 18_000 : 1_000,
      versionPriority: 100,
    },
    status: {
      conditions: [
        {
          ...{ type: "Available", status: "True", reason: "Local", lastTransitionTime: since },
          message: "Local APIServices are always available",
        },
      ],
    },
  };
}
