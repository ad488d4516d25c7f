/** Requests of a stream, of either variant, in; which names of one type Envoy wants from then on out. Nothing else of them is decoded. */
import { WireReader } from "./telemetry/wire.ts";

/** These and no others, or all but these. */
export type WantedNames = { readonly only: ReadonlySet<string> } | { readonly without: readonly string[] };

export type ReadWantedNames = (request: Uint8Array) => WantedNames | undefined;

/** Numbers of fields in DiscoveryRequest and DeltaDiscoveryRequest. */
const fields = {
  sotw: { type: 4, names: 3, gone: 0 },
  delta: { type: 2, names: 3, gone: 4 },
} as const;

/** Of one stream: the first of its requests for a type names all that are wanted, in both variants. */
export function createWantedNames(variant: "sotw" | "delta", typeUrl: string): ReadWantedNames {
  const { type, names, gone } = fields[variant];
  let isFirst = true;
  return (request) => {
    const texts = textsOf(request, [type, names, gone]);
    if (texts?.get(type)?.[0] !== typeUrl) return undefined;
    const isWhole = isFirst || variant === "sotw";
    isFirst = false;
    return isWhole ? { only: new Set(texts.get(names)) } : { without: texts.get(gone) ?? [] };
  };
}

/** Undefined for what cannot be read, which is the control plane's to refuse. */
function textsOf(request: Uint8Array, wanted: readonly number[]): ReadonlyMap<number, readonly string[]> | undefined {
  const texts = new Map<number, string[]>();
  try {
    const reader = new WireReader(request);
    for (let field = reader.next(); field !== 0; field = reader.next())
      if (wanted.includes(field)) texts.set(field, [...(texts.get(field) ?? []), reader.text()]);
    return texts;
  } catch {
    return undefined;
  }
}
