/** An OTLP request of Envoy's access logger in; the lines in it, with the plan by which they are counted, out. */
import { metricPlanAttribute } from "../../model/index.ts";
import { WireReader } from "./wire.ts";

export interface LogLines {
  /** As it was sent: JSON. Empty where there is none. */
  readonly plan: string;
  readonly lines: readonly string[];
  /** Of each line, what was noted beside it; empty unless it was asked for. */
  readonly notes: readonly Notes[];
}

export interface Notes {
  /** When the request began, by this machine's clock. */
  readonly startedMs: number;
  readonly values: ReadonlyMap<string, string>;
}

/** Throws `invalid` for what is no such request. */
export function readLogLines(bytes: Uint8Array, withNotes: boolean): readonly LogLines[] {
  const all: LogLines[] = [];
  const request = new WireReader(bytes);
  // ExportLogsServiceRequest.resource_logs
  while (findField(request, 1)) all.push(readResourceLogs(request.inner(), withNotes));
  return all;
}

function readResourceLogs(logs: WireReader, withNotes: boolean): LogLines {
  const lines: string[] = [];
  const notes: Notes[] = [];
  let plan = "";
  for (let field = logs.next(); field !== 0; field = logs.next()) {
    if (field === 1) plan = readPlan(logs.inner()) ?? plan;
    else if (field === 2) readScopeLogs(logs.inner(), lines, withNotes ? notes : undefined);
  }
  return { plan, lines, notes };
}

/** Resource.attributes */
function readPlan(resource: WireReader): string | undefined {
  while (findField(resource, 1)) {
    const [key, value] = readPair(resource.inner());
    if (key === metricPlanAttribute) return value;
  }
  return undefined;
}

/** KeyValue */
function readPair(pair: WireReader): readonly [string, string] {
  let [key, value] = ["", ""];
  for (let field = pair.next(); field !== 0; field = pair.next()) {
    if (field === 1) key = pair.text();
    else if (field === 2) value = readText(pair.inner());
  }
  return [key, value];
}

/** ScopeLogs.log_records, of each the body, and what is noted beside it where that is wanted. */
function readScopeLogs(scope: WireReader, lines: string[], notes: Notes[] | undefined): void {
  while (findField(scope, 2)) {
    if (notes) readNoted(scope.inner(), lines, notes);
    else {
      const record = scope.inner();
      if (findField(record, 5)) lines.push(readText(record.inner()));
    }
  }
}

/** LogRecord: its time, body and attributes. */
function readNoted(record: WireReader, lines: string[], notes: Notes[]): void {
  const values: (readonly [string, string])[] = [];
  let startedMs = 0;
  let line: string | undefined;
  for (let field = record.next(); field !== 0; field = record.next()) {
    if (field === 1) startedMs = record.fixed64() / 1e6;
    else if (field === 5) line = readText(record.inner());
    else if (field === 6) values.push(readPair(record.inner()));
  }
  if (line === undefined) return;
  lines.push(line);
  notes.push({ startedMs, values: new Map(values) });
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
