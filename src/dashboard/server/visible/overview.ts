/** The first page: findings about what is seen; figures of what can be counted of it. */
import type { MeshReads, OverviewReads } from "../../../read-api/index.ts";
import { seenFindings } from "./findings.ts";
import type { Sight } from "./sight.ts";

/** `seen` has what the viewer sees. */
export function visibleOverview(
  reads: OverviewReads,
  sight: Sight,
  seen: Pick<MeshReads, "proxies" | "services" | "objects">,
): OverviewReads {
  return {
    async overview() {
      const { findings, figures, ...rest } = await reads.overview();
      const [proxies, services, objects] = [await seen.proxies(), await seen.services(), await seen.objects()];
      const counted = new Map([
        ["proxies", proxies.length],
        ["in step", proxies.filter(({ state }) => state === "in step").length],
        ["services", services.length],
        ["objects", objects.length],
      ]);
      return {
        ...rest,
        findings: await seenFindings(findings, sight),
        figures: figures.flatMap((figure) => {
          const value = counted.get(figure.name);
          return value === undefined ? [] : [{ ...figure, value }];
        }),
      };
    },
  };
}
