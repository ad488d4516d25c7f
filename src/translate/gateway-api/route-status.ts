/** A route's attachments and problems in, its status out. */
import type { GatewayApiParentRef } from "../../model/index.ts";
import { type Attachment, refText } from "./attach.ts";
import { gatewayController } from "./gateway.ts";
import { type Outcome, type Problem, problem } from "./problem.ts";
import { condition, conditions } from "./status.ts";

export interface RouteOutcome {
  readonly attachments: readonly Attachment[];
  readonly gateway: Outcome<unknown>;
  readonly mesh: Outcome<unknown>;
}

/** The lower the more telling: one reference may name several listeners, and one reason is reported for all. */
const ranks: ReadonlyMap<string, number> = new Map([
  ["NotAllowedByListeners", 1],
  ["NoMatchingListenerHostname", 2],
  ["NoMatchingParent", 4],
]);
const rankOf = ({ denied }: Attachment): number => (denied ? (ranks.get(denied.reason) ?? 0) : 0);

export function routeStatus(
  { attachments, gateway, mesh }: RouteOutcome,
  namespace: string,
  generation: number | undefined,
): Readonly<Record<string, unknown>> {
  const byRef = Map.groupBy(attachments, ({ ref }) => refText(ref, namespace));
  const parents = [...byRef]
    .sort(([a], [b]) => (a > b ? -1 : 1))
    .flatMap(([, group]) => {
      const [first] = group;
      return first ? [parentStatus(first.ref, group, (first.isMesh ? mesh : gateway).problem, generation)] : [];
    });
  return { parents };
}

function parentStatus(
  ref: GatewayApiParentRef,
  group: readonly Attachment[],
  routeProblem: Problem | undefined,
  generation: number | undefined,
) {
  const bound = group.filter(({ denied }) => !denied).length;
  const message = bound > 1 ? `Route was valid, bound to ${bound} parents` : "Route was valid";
  return {
    parentRef: ref,
    controllerName: gatewayController,
    conditions: conditions(
      condition("Accepted", generation, { reason: "Accepted", message }, deniedOf(group)),
      condition(
        "ResolvedRefs",
        generation,
        { reason: "ResolvedRefs", message: "All references resolved" },
        routeProblem,
      ),
    ),
  };
}

function deniedOf(group: readonly Attachment[]): Problem | undefined {
  const lowest = Math.min(...group.map(rankOf));
  const told = group.filter((attachment) => rankOf(attachment) === lowest).flatMap(({ denied }) => denied ?? []);
  const [first] = told;
  return first && lowest > 0 ? problem(first.reason, told.map(({ message }) => message).join("; ")) : undefined;
}
