/** A resource of Envoy as JSON in; the resources that it names out. */
import { isRecord } from "../../lib/index.ts";

export interface Named {
  readonly type: string;
  readonly name: string;
}

/** By where the name is. Names of the same kind elsewhere are no references. */
const references: Readonly<Record<string, string>> = {
  routeConfigName: "RDS",
  cluster: "CDS",
  clusterName: "CDS",
  serviceName: "EDS",
};

/** Nobody follows more by eye. */
const maxNamed = 500;

export function leadsTo(json: unknown): readonly Named[] {
  const found = new Map<string, Named>();
  const add = (type: string, name: unknown): void => {
    if (typeof name === "string" && name !== "" && found.size < maxNamed) found.set(`${type} ${name}`, { type, name });
  };
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!isRecord(value)) return;
    for (const [field, inner] of Object.entries(value)) {
      const type = references[field];
      if (type !== undefined) add(type, inner);
      if (field === "weightedClusters" && isRecord(inner) && Array.isArray(inner.clusters))
        for (const one of inner.clusters) if (isRecord(one)) add("CDS", one.name);
      visit(inner);
    }
  };
  visit(json);
  return [...found.values()];
}
