/** A request's query in, how strictly it wants its body to be read out; and the words for what a body has twice. */
import { failure } from "./failure.ts";

export type FieldValidation = "Ignore" | "Warn" | "Strict";

/** Keys of a body that come twice, in the words that Kubernetes has for each form. */
export interface RepeatedFields {
  readonly form: "json" | "yaml";
  readonly sentences: readonly string[];
}

export const noneRepeated: RepeatedFields = { form: "json", sentences: [] };

export function fieldValidationOf(query: URLSearchParams): FieldValidation {
  const asked = query.get("fieldValidation") || "Warn";
  if (asked === "Ignore" || asked === "Warn" || asked === "Strict") return asked;
  throw failure(
    "Invalid",
    `fieldValidation: Unsupported value: ${JSON.stringify(asked)}: supported values: "", "Ignore", "Strict", "Warn"`,
  );
}
