import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { isRecord } from "../../src/lib/index.ts";
import { metricNames } from "../../src/ops/index.ts";

const dashboard: unknown = JSON.parse(
  readFileSync(new URL("../../docs/grafana/fairlead.json", import.meta.url), "utf8"),
);

/** Every query of the dashboard, those of its variables too. */
function queries(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(queries);
  if (!isRecord(value)) return [];
  const own = [value["expr"], value["type"] === "query" ? value["query"] : undefined];
  return [...own.filter((one) => typeof one === "string"), ...Object.values(value).flatMap(queries)];
}

test("every metric of the dashboard is one that the control plane exports", () => {
  const asked = queries(dashboard).flatMap((query) => [
    ...query.matchAll(/\b(?:pilot|fairlead|citadel|galley|process|istiod|sidecar)_\w+/g),
  ]);
  const names = new Set(asked.map(([name]) => name.replace(/_bucket$/, "")));
  expect(names.size).toBeGreaterThan(15);
  expect([...names].filter((name) => !metricNames.includes(name))).toEqual([]);
});

test("every panel has a query with a metric", () => {
  const panels = isRecord(dashboard) && Array.isArray(dashboard["panels"]) ? dashboard["panels"] : [];
  expect(panels.length).toBeGreaterThan(10);
  for (const panel of panels) expect(queries(panel).join()).toMatch(/_/);
});
