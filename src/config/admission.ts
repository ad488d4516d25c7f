/** An AdmissionReview in, the answer of istiod's `/validate` out. Pure: no I/O, and a dry run changes nothing anyway. */
import { FairleadError, isRecord, objectLimits, parseJson, readRecord, repeatedKeys } from "../lib/index.ts";
import { type Kind, kindOf } from "../model/index.ts";
import type { ValidateOptions } from "./validate/check.ts";
import { listed, type Verdict } from "./validate/report.ts";
import { validateConfig } from "./validate/validate-config.ts";

/** Why an object was refused, as istiod's metric `galley_validation_failed` names it. */
export type AdmissionFailure =
  | "unsupported_operation"
  | "yaml_decode_error"
  | "unknown_type"
  | "crd_conversion_error"
  | "invalid_resource";

export interface AdmissionResponse {
  readonly uid: string;
  readonly allowed: boolean;
  readonly status?: { readonly message: string; readonly code?: number; readonly reason?: string };
  readonly warnings?: readonly string[];
}

export interface AdmissionReview {
  readonly apiVersion: string;
  readonly kind: "AdmissionReview";
  readonly response: AdmissionResponse;
}

export interface Reviewed {
  readonly review: AdmissionReview;
  readonly failure?: AdmissionFailure;
}

const versions: readonly string[] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

const objectFields: readonly string[] = ["apiVersion", "kind", "metadata", "spec", "status"];

/** The body of the request, as text: whatever it is, the answer is an AdmissionReview. */
/** An object with this annotation is always refused: whoever configures the webhook sees by it that it answers. */
export const alwaysReject = "internal.istio.io/webhook-always-reject";

export interface ReviewOptions extends ValidateOptions {
  /** What the object refers to that is not there, as warnings. */
  readonly references?: (object: unknown) => readonly string[];
}

export function reviewAdmissionText(body: string, options: ReviewOptions = {}): Reviewed {
  try {
    const review = parseJson(body, objectLimits);
    const reviewed = reviewAdmission(review, options);
    if (!reviewed.review.response.allowed || !isSecurityObject(review)) return reviewed;
    // Of two keys of one name a reader would see one and the API server keep the other: not for policies.
    const [repeated] = repeatedKeys(body);
    return repeated === undefined
      ? reviewed
      : refuse(reviewed.review, "yaml_decode_error", `duplicate field ${JSON.stringify(repeated.key)}`);
  } catch (error) {
    const empty = answer(versions[0] ?? "", "", { allowed: true });
    return refuse(empty, "yaml_decode_error", `could not decode body: ${FairleadError.from(error).message}`);
  }
}

export function reviewAdmission(review: unknown, options: ReviewOptions = {}): Reviewed {
  const apiVersion = isRecord(review) ? review.apiVersion : undefined;
  const request = isRecord(review) && isRecord(review.request) ? review.request : undefined;
  const uid = typeof request?.uid === "string" ? request.uid : "";
  const known = versions.find((version) => version === apiVersion);
  const allowed = answer(known ?? versions[0] ?? "", uid, { allowed: true });
  if (!known || !isRecord(review) || review.kind !== "AdmissionReview")
    return refuse(allowed, "yaml_decode_error", "could not decode body: not an AdmissionReview of a known version");
  if (!request) return refuse(allowed, "yaml_decode_error", "could not decode object: the review has no request");
  // Only what is written is looked at; deleting a bad object must always be possible.
  if (request.operation !== "CREATE" && request.operation !== "UPDATE")
    return { review: allowed, failure: "unsupported_operation" };
  return reviewObject(allowed, request, options);
}

function reviewObject(
  allowed: AdmissionReview,
  request: Readonly<Record<string, unknown>>,
  options: ReviewOptions,
): Reviewed {
  const { object } = request;
  if (!isRecord(object) || typeof object.apiVersion !== "string" || typeof object.kind !== "string")
    return refuse(allowed, "yaml_decode_error", "cannot decode configuration: the request has no object");
  const kind = kindOf(object.apiVersion, object.kind);
  if (kind?.encoding !== "protobuf")
    return refuse(allowed, "unknown_type", `unrecognized type ${object.apiVersion}, Kind=${object.kind}`);
  if (readRecord(readRecord(object.metadata).annotations)[alwaysReject] === "true")
    return refuse(allowed, "invalid_resource", `${alwaysReject} asks for this object to be refused`);
  const whole = named(kind, request, object);
  const verdict = validateConfig(kind, whole, options);
  if (verdict.errors.length > 0) return refuseVerdict(allowed, verdict);
  const stray = Object.keys(object).find((key) => !objectFields.includes(key));
  if (stray !== undefined) {
    const name = isRecord(object.metadata) ? String(object.metadata.name ?? "") : "";
    return refuse(
      allowed,
      "invalid_resource",
      `unknown field ${JSON.stringify(stray)} on ${kind.kind} resource ${String(request.namespace ?? "")}/${name}`,
    );
  }
  const warnings = [...verdict.warnings.map(({ message }) => message), ...(options.references?.(whole) ?? [])];
  const response = { ...allowed.response, ...(warnings.length > 0 ? { warnings } : {}) };
  return { review: { ...allowed, response } };
}

/** With generateName the object has no name yet; its namespace may stand in the request only. */
function named(
  kind: Kind,
  request: Readonly<Record<string, unknown>>,
  object: Readonly<Record<string, unknown>>,
): unknown {
  const metadata = isRecord(object.metadata) ? object.metadata : {};
  const name = metadata.name ?? request.name ?? metadata.generateName ?? kind.singular;
  return { ...object, metadata: { ...metadata, name, namespace: metadata.namespace ?? request.namespace } };
}

/** What Istio says comes first; where the field is known, it is said as well. */
function refuseVerdict(allowed: AdmissionReview, { readable, errors }: Verdict): Reviewed {
  const told = errors.map(({ message }) => message);
  const [first = ""] = told;
  const text = told.length === 1 ? first : listed(told);
  const fields = [...new Set(errors.map(({ path }) => path))].join(", ");
  if (!readable) return refuse(allowed, "crd_conversion_error", `error decoding configuration: ${text} (${fields})`);
  return refuse(allowed, "invalid_resource", `configuration is invalid: ${text.trimEnd()} (${fields})`);
}

const answer = (apiVersion: string, uid: string, response: { readonly allowed: boolean }): AdmissionReview => ({
  apiVersion,
  kind: "AdmissionReview",
  response: { uid, ...response },
});

function refuse(review: AdmissionReview, failure: AdmissionFailure, message: string): Reviewed {
  const { uid } = review.response;
  return { review: { ...review, response: { uid, allowed: false, status: { message } } }, failure };
}

function isSecurityObject(review: unknown): boolean {
  const object =
    isRecord(review) && isRecord(review.request) && isRecord(review.request.object) ? review.request.object : {};
  return typeof object.apiVersion === "string" && object.apiVersion.startsWith("security.istio.io/");
}
