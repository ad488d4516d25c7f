/** What the API server finds wrong with a field, in Kubernetes' own words and reasons. */

export type FieldReason =
  | "FieldValueInvalid"
  | "FieldValueTypeInvalid"
  | "FieldValueRequired"
  | "FieldValueNotSupported"
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueTooLong"
  | "FieldValueTooMany";

export interface FieldIssue {
  readonly reason: FieldReason;
  /** `spec.http[0].timeout`; `<nil>` where Kubernetes names no field. */
  readonly path: string;
  /** Without the path: `Invalid value: "x": …`. */
  readonly message: string;
}

const openings: Readonly<Record<FieldReason, string>> = {
  FieldValueInvalid: "Invalid value",
  FieldValueTypeInvalid: "Invalid value",
  FieldValueRequired: "Required value",
  FieldValueNotSupported: "Unsupported value",
  FieldValueDuplicate: "Duplicate value",
  FieldValueForbidden: "Forbidden",
  FieldValueTooLong: "Too long",
  FieldValueTooMany: "Too many",
};

/** `value` undefined leaves the value out, as Kubernetes does where it would be a whole object. */
export function issue(reason: FieldReason, path: string, detail: string, value?: unknown): FieldIssue {
  const parts = [openings[reason]];
  if (value !== undefined) parts.push(JSON.stringify(value));
  if (detail !== "") parts.push(detail);
  return { reason, path, message: parts.join(": ") };
}

export const formatIssue = (one: FieldIssue): string => `${one.path}: ${one.message}`;

const blocking: ReadonlySet<FieldReason> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

/** With one of these the shape is not what CEL rules were written for, so they are not run. */
export const blocksRules = (one: FieldIssue): boolean => blocking.has(one.reason);

export const rulesNotChecked: FieldIssue = issue(
  "FieldValueInvalid",
  "<nil>",
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
  null,
);
