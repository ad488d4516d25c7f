/** JSON in, JSON with some of its objects replaced out. */

// biome-ignore lint/suspicious/noExplicitAny: Envoy's configuration is walked without its types
export type Json = any;

/** Innermost objects first. */
export function mapObjects(json: Json, replace: (object: Json) => Json): Json {
  if (Array.isArray(json)) return json.map((item) => mapObjects(item, replace));
  if (typeof json !== "object" || json === null) return json;
  return replace(
    Object.fromEntries(Object.entries(json).map(([key, value]) => [key, mapObjects(value, replace)] as const)),
  );
}
