/** An OTLP request of Envoy's access logger in; the lines in it, with the plan by which they are counted, out. */
import { metricPlanAttribute } from "../../model/index.ts";
import { WireReader } from "./wire.ts";

export interface LogLines {
  /** As it was sent: JSON. Empty where there is none. */
  readonly plan: string;
  readonly lines: readonly string[];
}

/** Throws `invalid` for what is no such request. */
export function readLogLines(bytes: Uint8Array): readonly LogLines[] {
  const all: LogLines[] = [];
  const request = new WireReader(bytes);
  // ExportLogsServiceRequest.resource_logs
  while (findField(request, 1)) all.push(readResourceLogs(request.inner()));
  return all;
}

function readResourceLogs(logs: WireReader): LogLines {
  const lines: string[] = [];
  let plan = "";
  for (let field = logs.next(); field !== 0; field = logs.next()) {
    if (field === 1) plan = readPlan(logs.inner()) ?? plan;
    else if (field === 2) readScopeLogs(logs.inner(), lines);
  }
  return { plan, lines };
}

/** Resource.attributes, each with a key and a value. */
function readPlan(resource: WireReader): string | undefined {
  while (findField(resource, 1)) {
    const pair = resource.inner();
    let [key, value] = ["", ""];
    for (let field = pair.next(); field !== 0; field = pair.next()) {
      if (field === 1) key = pair.text();
      else if (field === 2) value = readText(pair.inner());
    }
    if (key === metricPlanAttribute) return value;
  }
  return undefined;
}

/** ScopeLogs.log_records, of each the body. */
function readScopeLogs(scope: WireReader, lines: string[]): void {
  while (findField(scope, 2)) {
    const record = scope.inner();
    if (findField(record, 5)) lines.push(readText(record.inner()));
  }
}

/** AnyValue.string_value */
function readText(value: WireReader): string {
  return findField(value, 1) ? value.text() : "";
}

/** Goes on to the next field of that number, past all others. */
function findField(reader: WireReader, number: number): boolean {
  for (let field = reader.next(); field !== 0; field = reader.next()) if (field === number) return true;
  return false;
}
