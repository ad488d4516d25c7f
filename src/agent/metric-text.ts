/** One metric of the agent's own in; its lines in Prometheus' text format out. */

/** Labels with their braces, empty where there are none. */
export type MetricLine = readonly [labels: string, value: number];

export interface Metric {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
}

export function metricText({ name, type, help }: Metric, lines: readonly MetricLine[]): string {
  const text = lines.map(([labels, value]) => `${name}${labels} ${value}\n`).join("");
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${text}`;
}

export const gaugeText = (name: string, help: string, value: number): string =>
  metricText({ name, type: "gauge", help }, [["", value]]);

export const counterText = (name: string, help: string, value: number): string =>
  metricText({ name, type: "counter", help }, [["", value]]);
