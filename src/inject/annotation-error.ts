/** An annotation that cannot be followed in; the refusal that names it out. */
import { FairleadError } from "../lib/index.ts";

export function badAnnotation(name: string, value: string, cause: string): FairleadError {
  return new FairleadError("invalid", `invalid value '${value}' for annotation '${name}': ${cause}`);
}
