/** For tests: the text form of protobuf, as far as Istio's ProxyConfig goldens use it, read into protobuf's JSON form. */
type Value = string | number | boolean | { [name: string]: Value } | Value[];

const durations = new Set(["drainDuration", "terminationDrainDuration", "interval", "time"]);
const wrappers = new Set([
  "statsCompression",
  "concurrency",
  "globalDownstreamConnectionLimit",
  "holdApplicationUntilProxyStarts",
]);
const maps = new Set(["runtimeValues", "proxyMetadata"]);

export function parseTextProto(text: string): Record<string, Value> {
  const tokens = [...text.replace(/^\s*#.*$/gm, "").matchAll(/"((?:[^"\\]|\\.)*)"|[{}[\]:,;]|[^\s{}[\]:,;"]+/g)].map(
    ([token]) => token,
  );
  return readFields(tokens);
}

function readFields(tokens: string[]): Record<string, Value> {
  const out: Record<string, Value> = {};
  for (let name = tokens.shift(); name !== undefined && name !== "}"; name = tokens.shift()) {
    if (name === "," || name === ";") continue;
    const key = name.replace(/_([a-z0-9])/g, (_, c: string) => c.toUpperCase());
    if (tokens[0] === ":") tokens.shift();
    out[key] = convert(key, readValue(tokens));
  }
  return out;
}

function readValue(tokens: string[]): Value {
  const token = tokens.shift() ?? "";
  if (token === "{") return readFields(tokens);
  if (token === "[") {
    const list: Value[] = [];
    while (tokens[0] !== "]" && tokens.length > 0) {
      if (tokens[0] === ",") tokens.shift();
      else list.push(readValue(tokens));
    }
    tokens.shift();
    return list;
  }
  if (token.startsWith('"')) return JSON.parse(token) as string;
  if (token === "true" || token === "false") return token === "true";
  return /^-?[\d.]+$/.test(token) ? Number(token) : token;
}

function convert(key: string, value: Value): Value {
  if (typeof value !== "object") return value;
  if (maps.has(key)) {
    const entries = (Array.isArray(value) ? value : [value]) as { key: string; value: Value }[];
    return Object.fromEntries(entries.map((entry) => [entry.key, entry.value]));
  }
  if (Array.isArray(value)) return value;
  if (durations.has(key)) return `${value.seconds ?? 0}s`;
  return wrappers.has(key) && value.value !== undefined ? value.value : value;
}
