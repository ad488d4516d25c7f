/**
 * The settings of one proxy in; the JSON that its container is handed out: what differs from the defaults that the agent
 * has by itself, in protobuf's form and order.
 */
import { durationParts, goJson, isRecord, parseDuration } from "../lib/index.ts";
import { defaultProxyConfig, type ProxyConfigValues, proxyConfigValues, type Schema } from "../model/index.ts";

export function proxyConfigText(config: ProxyConfigValues): string {
  const given = Object.fromEntries(Object.entries(config).filter(([name, value]) => !isDefault(name, value)));
  return goJson(printed(proxyConfigValues, given) ?? {});
}

const defaults = new Map<string, unknown>(Object.entries(defaultProxyConfig));

function isDefault(name: string, value: unknown): boolean {
  const usual = defaults.get(name);
  if (usual === undefined) return false;
  if (usual === value) return true;
  const duration = typeof value === "string" && name.endsWith("Duration") ? parseDuration(value) : undefined;
  return duration !== undefined && duration === parseDuration(String(usual));
}

/** Numbers that may be unset, so that a zero says something; all other zeros are protobuf's "not set". */
const wrappedNumbers: ReadonlySet<string> = new Set(["concurrency"]);
const wrapsAllNumbers: ReadonlySet<string> = new Set([
  "istio.mesh.v1alpha1.ProxyConfig.ConnectionSettings",
  "istio.mesh.v1alpha1.Tracing.Stackdriver",
]);
/** Messages whose booleans cannot be unset; in all others a `false` says something. */
const plainBooleans: ReadonlySet<string> = new Set([
  "istio.mesh.v1alpha1.SDS",
  "istio.mesh.v1alpha1.Tracing.Stackdriver",
]);

/** Undefined for what protobuf does not print. */
function printed(schema: Schema, value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  switch (schema.type) {
    case "object": {
      if (!isRecord(value)) return undefined;
      const chosen = new Set((schema.oneOf ?? []).flat());
      const fields = Object.entries(schema.fields).flatMap(([name, inner]) => {
        const shown = printed(inner, value[name]);
        const says = chosen.has(name) || !isZero(inner, shown, name, schema.proto ?? "");
        return shown === undefined || !says ? [] : [[name, shown] as const];
      });
      return Object.fromEntries(fields);
    }
    case "array":
      return Array.isArray(value) ? value.map((item) => printed(schema.items, item)) : undefined;
    case "map":
      return isRecord(value)
        ? Object.fromEntries(
            Object.entries(value)
              .sort(([a], [b]) => (a < b ? -1 : 1))
              .map(([key, item]) => [key, printed(schema.values, item)]),
          )
        : undefined;
    case "string":
      return schema.meaning === "duration" && typeof value === "string" ? durationText(value) : value;
    case "integer":
      // 64 bits do not fit a JSON number, so protobuf writes text.
      return schema.format === "int64" ? String(value) : value;
    default:
      return value;
  }
}

function isZero(schema: Schema, value: unknown, name: string, message: string): boolean {
  switch (schema.type) {
    case "string":
      return schema.meaning !== "duration" && (value === "" || (schema.enum !== undefined && value === schema.enum[0]));
    case "integer":
    case "number":
      return Number(value) === 0 && !wrappedNumbers.has(name) && !wrapsAllNumbers.has(message);
    case "boolean":
      return value === false && plainBooleans.has(message);
    case "array":
      return Array.isArray(value) && value.length === 0;
    case "map":
      return isRecord(value) && Object.keys(value).length === 0;
    default:
      return false;
  }
}

/** With no, three, six or nine digits after the point. */
function durationText(text: string): string {
  const nanos = parseDuration(text);
  if (nanos === undefined) return text;
  const parts = durationParts(nanos < 0n ? -nanos : nanos);
  const digits = String(parts.nanos)
    .padStart(9, "0")
    .replace(/(000){1,3}$/, "");
  return `${nanos < 0n ? "-" : ""}${parts.seconds}${digits === "" ? "" : `.${digits}`}s`;
}
