/** A JSON Web Key Set in, why it cannot be read (or undefined) out; and which of its keys are more than public. */
import { isRecord, parseJson } from "../../lib/index.ts";

/** The members that make a public key of each type; `oct` is a shared secret. */
const needed: ReadonlyMap<string, readonly string[]> = new Map([
  ["RSA", ["n", "e"]],
  ["EC", ["crv", "x", "y"]],
  ["OKP", ["crv", "x"]],
  ["oct", ["k"]],
]);

type Parsed = { readonly keys: readonly unknown[]; readonly sole: boolean } | { readonly error: string };

function parse(text: string): Parsed {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    return { error: error instanceof Error ? error.message : "not JSON" };
  }
  if (!isRecord(value)) return { error: "not a JSON object" };
  return Array.isArray(value.keys) ? { keys: value.keys, sole: false } : { keys: [value], sole: true };
}

export function jwksError(text: string): string | undefined {
  const parsed = parse(text);
  if ("error" in parsed) return `failed to unmarshal JWK set: ${parsed.error}`;
  for (const [i, key] of parsed.keys.entries()) {
    const wrong = keyError(key);
    if (wrong === undefined) continue;
    return `failed to unmarshal JWK set: ${parsed.sole ? "failed to parse sole key in key set" : `failed to parse key #${i} (total ${parsed.keys.length}) from multi-key JWK set`}: ${wrong}`;
  }
  return undefined;
}

function keyError(key: unknown): string | undefined {
  const type = isRecord(key) && typeof key.kty === "string" ? key.kty : "";
  const members = needed.get(type);
  if (!members || !isRecord(key)) return `invalid key type from JSON (${type})`;
  const missing = members.find((name) => typeof key[name] !== "string");
  return missing === undefined ? undefined : `required field ${missing} is missing`;
}

export function privateKeyIndexes(text: string): readonly number[] {
  const parsed = parse(text);
  if ("error" in parsed || jwksError(text) !== undefined) return [];
  return parsed.keys.flatMap((key, i) => (isRecord(key) && (key.kty === "oct" || Object.hasOwn(key, "d")) ? [i] : []));
}
