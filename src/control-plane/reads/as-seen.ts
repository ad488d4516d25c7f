/** Traffic, and which namespaces whoever looks may see, in; the same with everybody else as one place without a name out. */
import { elsewhere, type Party } from "../../read-api/index.ts";
import { type EdgeTraffic, noService } from "../../traffic/index.ts";

const hiddenParty: Party = { namespace: elsewhere, workload: elsewhere, app: "", version: "" };

/** What goes on between those that are not seen is nobody's business. Callers without a proxy are of no namespace. */
export function asSeen(
  traffic: readonly EdgeTraffic[],
  sees: ((namespace: string) => boolean) | undefined,
): readonly EdgeTraffic[] {
  if (!sees) return traffic;
  return traffic.flatMap((edge) => {
    const { source, destination, service } = edge;
    const to = destination.namespace === "" ? service.namespace : destination.namespace;
    const [seesSource, seesTarget] = [sees(source.namespace), sees(to)];
    if (!seesTarget && !seesSource) return [];
    return [
      {
        ...edge,
        source: seesSource || source.namespace === "" ? source : hiddenParty,
        destination: seesTarget ? destination : hiddenParty,
        service: seesTarget && sees(service.namespace) ? service : noService,
      },
    ];
  });
}
