/** ReferenceGrants in; whether an object may refer to one in another namespace out. */
import type { Graph } from "../../collections/index.ts";
import type { GatewayApiInputs } from "./inputs.ts";

interface Reference {
  /** `group/Kind` of the object that refers, and its namespace. */
  readonly from: string;
  readonly fromNamespace: string;
  readonly to: string;
  readonly toNamespace: string;
  readonly name: string;
}

export type Grants = (reference: Reference) => boolean;

export function createGrants(graph: Graph, { configs }: GatewayApiInputs): Grants {
  const pair = (from: string, fromNamespace: string, to: string, toNamespace: string): string =>
    [from, fromNamespace, to, toNamespace].join("|");
  const grants = configs.referenceGrants;
  const byPair = graph.index(grants, "pair", ({ spec, meta }) =>
    (spec.from ?? []).flatMap((from) =>
      (spec.to ?? []).map((to) =>
        pair(
          `${from.group ?? ""}/${from.kind ?? ""}`,
          from.namespace ?? "",
          `${to.group ?? ""}/${to.kind ?? ""}`,
          meta.namespace,
        ),
      ),
    ),
  );
  return ({ from, fromNamespace, to, toNamespace, name }) =>
    byPair.get(pair(from, fromNamespace, to, toNamespace)).some((key) =>
      // A grant without a name is for all objects of the kind.
      (grants.get(key)?.spec.to ?? []).some(
        (entry) => `${entry.group ?? ""}/${entry.kind ?? ""}` === to && (!entry.name || entry.name === name),
      ),
    );
}
