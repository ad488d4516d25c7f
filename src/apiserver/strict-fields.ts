/**
 * What a body says that is not kept (fields that its kind does not have, or that come twice) in; refused, warned of or
 * passed over out, as the client asked with `fieldValidation`.
 */
import type { WriteContext } from "./context.ts";
import { failure } from "./failure.ts";
import type { RepeatedFields } from "./field-validation.ts";

/** `unknown` are the paths of fields that the kind does not have; `isPatched`, where the body is no whole object. */
export function tellFields(context: WriteContext, unknown: readonly string[], isPatched = false): void {
  const { fieldValidation, repeated, request } = context;
  const sentences = unknown.map((path) => `unknown field ${JSON.stringify(path)}`);
  if (fieldValidation === "Warn") [...repeated.sentences, ...sentences].forEach(context.warn);
  if (fieldValidation !== "Strict" || repeated.sentences.length + unknown.length === 0) return;
  const text = `strict decoding error: ${[...strictSentences(repeated), ...sentences].join(", ")}`;
  if (isPatched) throw refusedPatch(text);
  const { kind } = request.kind;
  throw failure("BadRequest", `${kind} in version "${request.kind.version}" cannot be handled as a ${kind}: ${text}`);
}

/** What is applied is YAML to Kubernetes, whatever it is written in. */
export function tellAppliedFields(context: WriteContext): void {
  const { fieldValidation, repeated } = context;
  if (fieldValidation !== "Strict" || repeated.sentences.length === 0) return;
  const text = strictSentences(repeated).join(", ");
  throw failure("BadRequest", `error strict decoding YAML: error converting YAML to JSON: ${text}`);
}

function strictSentences({ form, sentences }: RepeatedFields): readonly string[] {
  if (form === "json" || sentences.length === 0) return sentences;
  return [`yaml: unmarshal errors:\n  ${sentences.join("\n  ")}`];
}

function refusedPatch(text: string): Error {
  const message = `Invalid value: ${text}`;
  return failure("Invalid", ` "" is invalid: patch: ${message}`, {
    causes: [{ reason: "FieldValueInvalid", message, field: "patch" }],
  });
}
