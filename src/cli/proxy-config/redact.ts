/** A dump's JSON in; a copy whose keys, passwords and generic secrets say `[redacted]`, as Envoy itself says, out. */
import { isRecord } from "../../lib/index.ts";

const redacted = "[redacted]";

/** Fields, by their names without underscores, under which every inline value is secret. */
const secretFields: ReadonlySet<string> = new Set([
  "privatekey",
  "privatekeyprovider",
  "password",
  "pkcs12",
  "sessionticketkeys",
  "genericsecret",
]);

export interface Redacted {
  readonly json: unknown;
  /** Whether anything had to be hidden. */
  readonly changed: boolean;
}

export function redactDump(json: unknown): Redacted {
  let changed = false;
  const hide = (text: string, to: string): string => {
    if (text !== to) changed = true;
    return to;
  };
  const walk = (value: unknown, secret: boolean): unknown => {
    if (Array.isArray(value)) return value.map((item) => walk(item, secret));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        const name = key.replaceAll("_", "").toLowerCase();
        if (secret && typeof inner === "string" && name === "inlinebytes")
          return [key, hide(inner, Buffer.from(redacted).toString("base64"))];
        if (secret && typeof inner === "string" && name === "inlinestring") return [key, hide(inner, redacted)];
        return [key, walk(inner, secret || secretFields.has(name))];
      }),
    );
  };
  const copy = walk(json, false);
  return { json: copy, changed };
}
