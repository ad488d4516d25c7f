import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isRecord } from "../../src/lib/index.ts";
import { sampleLabels } from "../../src/ops/index.ts";
import { readQuery } from "./promql.ts";

const dashboard: unknown = JSON.parse(
  readFileSync(new URL("../../docs/grafana/fairlead.json", import.meta.url), "utf8"),
);

interface Query {
  readonly text: string;
  /** How a line is called: `{{type}} p99`. */
  readonly legend: string;
}

/** Every query of the dashboard, those of its variables too. */
function queries(value: unknown): readonly Query[] {
  if (Array.isArray(value)) return value.flatMap(queries);
  if (!isRecord(value)) return [];
  const { expr, type, query, legendFormat } = value;
  const own = [expr, type === "query" ? query : undefined].filter((one) => typeof one === "string");
  const legend = typeof legendFormat === "string" ? legendFormat : "";
  return [...own.map((text) => ({ text, legend })), ...Object.values(value).flatMap(queries)];
}

/** What Prometheus adds to whatever it scrapes. */
const ofScrape = ["job", "instance"];

/** Everything in a query that the control plane does not export. */
function unknownIn({ text, legend }: Query): readonly string[] {
  const { metrics, labels, grouped } = readQuery(text);
  const known = metrics.map((name) => sampleLabels.get(name));
  const has = (label: string): boolean => known.every((own) => [...(own ?? []), ...ofScrape].includes(label));
  const said = [...legend.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, label = ""]) => label);
  return [
    ...metrics.filter((_, at) => known[at] === undefined),
    ...labels.filter((label) => !has(label)),
    // What is grouped by has no other labels left.
    ...said.filter((label) => (grouped ? !grouped.includes(label) : !has(label))),
  ];
}

describe("what is unknown in a query is found", () => {
  test.each([
    ["sum by (type) (rate(pilot_xds_pushes[5m]))", "{{type}}", []],
    ["node_cpu_seconds_total", "", ["node_cpu_seconds_total"]],
    ["rate(pilot_proxy_convergence_time[5m])", "", ["pilot_proxy_convergence_time"]],
    ['pilot_xds_pushes{kind="cds"} > 0', "", ["kind"]],
    ["sum by (reason) (pilot_xds_pushes) / on (job) pilot_services", "", ["reason"]],
    ["sum by (type) (pilot_xds_pushes)", "{{instance}}", ["instance"]],
    ["sum(pilot_xds_pushes)", "{{type}}", ["type"]],
    ["label_values(pilot_xds_pushes, kind)", "", ["kind"]],
  ])("%s %s", (text, legend, unknown) => {
    expect(unknownIn({ text, legend })).toEqual(unknown);
  });
});

test("every metric and label of the dashboard is one that the control plane exports", () => {
  const all = queries(dashboard);
  expect(new Set(all.flatMap(({ text }) => readQuery(text).metrics)).size).toBeGreaterThan(15);
  for (const query of all) expect(unknownIn(query), query.text).toEqual([]);
});

test("every panel has a query with a metric", () => {
  const panels = isRecord(dashboard) && Array.isArray(dashboard["panels"]) ? dashboard["panels"] : [];
  expect(panels.length).toBeGreaterThan(10);
  for (const panel of panels) expect(queries(panel).flatMap(({ text }) => readQuery(text).metrics)).not.toEqual([]);
});
