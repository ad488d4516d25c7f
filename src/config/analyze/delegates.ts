/** Routes that hand over to a VirtualService which is not there, or cannot stand in: they match nothing. */
import { objectName, type VirtualServiceSpec, virtualService } from "../../model/index.ts";
import type { Analyser, Analysis } from "./analyser.ts";
import type { AnalysedObject } from "./objects.ts";

type Service = AnalysedObject<VirtualServiceSpec>;

export const delegates: Analyser = {
  name: "fairlead.DelegateAnalyzer",
  needsCluster: false,
  run(analysis) {
    const byName = new Map(analysis.objects.of(virtualService).map((service) => [keyOf(service), service]));
    for (const root of byName.values())
      (root.spec.http ?? []).forEach(({ delegate }, i) => {
        if (!delegate || !root.spec.hosts?.length) return;
        const namespace = delegate.namespace || root.meta.namespace;
        const wrong = problemOf(analysis, root, byName.get(`${namespace}/${delegate.name ?? ""}`));
        if (wrong === undefined) return;
        const name = objectName("VirtualService", { name: delegate.name ?? "", namespace });
        analysis.report(
          root,
          "FLD0002",
          `The route delegates to ${name}, ${wrong}; it is left out.`,
          `spec.http[${i}].delegate`,
        );
      });
  },
};

const keyOf = ({ meta }: Service): string => `${meta.namespace}/${meta.name}`;

function problemOf({ mesh }: Analysis, root: Service, found: Service | undefined): string | undefined {
  if (!found) return "which does not exist";
  if (found.spec.hosts?.length) return "which has hosts of its own and so is no delegate";
  const written = found.spec.exportTo?.length ? found.spec.exportTo : (mesh.defaultVirtualServiceExportTo ?? ["*"]);
  const isSeen = written.some((to) => to === "*" || (to === "." ? found.meta.namespace : to) === root.meta.namespace);
  return isSeen ? undefined : `which is not exported to namespace ${root.meta.namespace}`;
}
