/** The `matchConditions` of webhooks: what a webhook would be asked in; whether its conditions hold, or cannot be told, out. */
import { type CelRules, celValue, loadCel } from "../config/index.ts";
import type { KubeObject } from "../model/index.ts";
import { at, listAt, textAt } from "./access.ts";
import type { FieldError } from "./failure.ts";
import type { ApiKind } from "./kind.ts";
import type { Pace } from "./pace.ts";

let loading: Promise<CelRules> | undefined;
/** It takes its time to load: only those pay who have conditions. */
const rules = (): Promise<CelRules> => {
  loading ??= loadCel();
  return loading;
};

/** One condition that is false is enough; an error counts only where none is. */
export async function conditionsHold(webhook: unknown, review: unknown): Promise<boolean | { readonly error: string }> {
  const conditions = listAt(webhook, "matchConditions");
  if (conditions.length === 0) return true;
  const cel = (await rules()).forOne();
  const request = at(review, "request");
  const bindings = {
    request: celValue(request),
    object: celValue(at(request, "object")),
    oldObject: celValue(at(request, "oldObject")),
  };
  const errors: string[] = [];
  for (const condition of conditions) {
    const expression = textAt(condition, "expression");
    const verdict = cel.evaluate(expression, bindings);
    if ("error" in verdict) errors.push(`expression '${expression}' resulted in error: ${verdict.error}`);
    else if (verdict.value !== true) return false;
  }
  return errors.length === 0 ? true : { error: errors.join(", ") };
}

const maxConditions = 64;

/** What is wrong with the conditions of a configuration that is about to be stored. */
export async function conditionErrors(kind: ApiKind, object: KubeObject, pace: Pace): Promise<readonly FieldError[]> {
  if (kind.group !== "admissionregistration.k8s.io" || !kind.kind.endsWith("WebhookConfiguration")) return [];
  const errors: FieldError[] = [];
  for (const [i, webhook] of listAt(object, "webhooks").entries()) {
    const conditions = listAt(webhook, "matchConditions");
    const path = `webhooks[${i}].matchConditions`;
    const message = `Too many: ${conditions.length}: must have at most 64 items`;
    if (conditions.length > maxConditions) errors.push({ path, reason: "FieldValueTooMany", message });
    else if (conditions.length > 0) {
      const cel = await rules();
      for (const [j, condition] of conditions.entries()) {
        errors.push(...conditionError(cel, condition, `${path}[${j}]`));
        await pace.pause();
      }
    }
  }
  return errors;
}

function conditionError(cel: CelRules, condition: unknown, path: string): readonly FieldError[] {
  const expression = textAt(condition, "expression");
  const missing = ["name", "expression"].filter((field) => textAt(condition, field).trim() === "");
  if (missing.length > 0)
    return missing.map((field) => ({
      path: `${path}.${field}`,
      reason: "FieldValueRequired",
      message: "Required value",
    }));
  const wrong = cel.syntaxError(expression);
  if (wrong === undefined) return [];
  const message = `Invalid value: ${JSON.stringify(expression)}: compilation failed: ${wrong}`;
  return [{ path: `${path}.expression`, reason: "FieldValueInvalid", message }];
}
