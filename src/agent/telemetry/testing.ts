/** For tests: requests of Envoy's access logger, written by hand, and lines as Envoy would write them. */
import {
  columnSeparator,
  groupSeparator,
  type LabelColumn,
  labelColumns,
  type MetricPlan,
  metricPlanAttribute,
} from "../../model/index.ts";

function field(number: number, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content);
  const length: number[] = [];
  for (let rest = bytes.length; ; rest >>>= 7) {
    length.push(rest > 0x7f ? (rest & 0x7f) | 0x80 : rest);
    if (rest <= 0x7f) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

const pair = (key: string, value: string): Buffer => Buffer.concat([field(1, key), field(2, field(1, value))]);

/** An ExportLogsServiceRequest with the plan as its resource's attribute, and the notes as those of each line. */
export function exportRequest(
  plan: MetricPlan | string,
  lines: readonly string[],
  notes: Readonly<Record<string, string>> = {},
): Uint8Array {
  const attribute = pair(metricPlanAttribute, typeof plan === "string" ? plan : JSON.stringify(plan));
  const noted = Object.entries(notes).map(([key, value]) => field(6, pair(key, value)));
  const time = Buffer.from([(1 << 3) | 1, 1, 2, 3, 4, 5, 6, 7, 8, (2 << 3) | 0, 0x96, 0x01]);
  const records = lines.map((line) => field(2, Buffer.concat([time, field(5, field(1, line)), ...noted])));
  return field(1, Buffer.concat([field(1, field(1, attribute)), field(2, Buffer.concat(records))]));
}

export type Columns = Partial<Record<LabelColumn, string>>;

export function line(columns: Columns, values: readonly (string | number)[], further: readonly string[] = []): string {
  const key = [...labelColumns.map((name) => columns[name] ?? "-"), ...further];
  return [key.join(columnSeparator), values.join(columnSeparator)].join(groupSeparator);
}
