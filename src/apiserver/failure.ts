/** What went wrong in, a metav1.Status out: the same codes, reasons and sentences that Kubernetes' clients know. */
import { type ErrorCode, FairleadError, isRecord } from "../lib/index.ts";

export interface FieldError {
  /** `spec.ports[0].port`. */
  readonly path: string;
  /** FieldValueInvalid, FieldValueRequired, FieldValueNotSupported, FieldValueForbidden, … */
  readonly reason: string;
  /** The sentence after the path. */
  readonly message: string;
}

export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly code?: number;
}

export interface Named {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

const codes: Readonly<Record<string, readonly [number, ErrorCode]>> = {
  BadRequest: [400, "invalid"],
  Unauthorized: [401, "unauthenticated"],
  Forbidden: [403, "forbidden"],
  NotFound: [404, "not-found"],
  MethodNotAllowed: [405, "invalid"],
  NotAcceptable: [406, "invalid"],
  AlreadyExists: [409, "already-exists"],
  Conflict: [409, "conflict"],
  Gone: [410, "conflict"],
  Expired: [410, "conflict"],
  RequestEntityTooLarge: [413, "too-large"],
  UnsupportedMediaType: [415, "invalid"],
  Invalid: [422, "invalid"],
  TooManyRequests: [429, "unavailable"],
  InternalError: [500, "internal"],
  ServiceUnavailable: [503, "unavailable"],
  Timeout: [504, "timeout"],
  InsufficientStorage: [507, "storage"],
};

export type Reason = keyof typeof codes & string;

export function failure(reason: Reason, message: string, details?: Readonly<Record<string, unknown>>): FairleadError {
  const [code, errorCode] = codes[reason] ?? [500, "internal"];
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    ...(details === undefined ? {} : { details }),
    code,
  };
  return new FairleadError(errorCode, message, { cause: status });
}

const told = new WeakSet<FairleadError>();

/** Somebody else's failure, which has its own place in the log: the request that met it needs no line. */
export function unreachable(message: string): FairleadError {
  const error = failure("InternalError", message);
  told.add(error);
  return error;
}

export const isTold = (error: unknown): boolean => error instanceof FairleadError && told.has(error);

export function notFound(kind: Named, name: string): FairleadError {
  return failure("NotFound", `${resourceName(kind)} "${name}" not found`, detailsOf(kind, name));
}

export function alreadyExists(kind: Named, name: string): FairleadError {
  return failure("AlreadyExists", `${resourceName(kind)} "${name}" already exists`, detailsOf(kind, name));
}

export function conflict(kind: Named, name: string, why: string): FairleadError {
  return failure(
    "Conflict",
    `Operation cannot be fulfilled on ${resourceName(kind)} "${name}": ${why}`,
    detailsOf(kind, name),
  );
}

export function modified(kind: Named, name: string): FairleadError {
  return conflict(
    kind,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );
}

export function invalid(kind: Named, name: string, errors: readonly FieldError[]): FairleadError {
  const sentences = errors.map((error) => (error.path === "" ? error.message : `${error.path}: ${error.message}`));
  const text = sentences.length === 1 ? sentences[0] : `[${sentences.join(", ")}]`;
  return failure(
    "Invalid",
    `${kind.group === "" ? kind.kind : `${kind.kind}.${kind.group}`} "${name}" is invalid: ${text}`,
    {
      name,
      group: kind.group,
      kind: kind.kind,
      causes: errors.map((error) => ({ reason: error.reason, message: error.message, field: error.path })),
    },
  );
}

export function success(kind: Named, name: string, uid: string | undefined): Status {
  const details = {
    name,
    ...(kind.group === "" ? {} : { group: kind.group }),
    kind: kind.plural,
    ...(uid === undefined ? {} : { uid }),
  };
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
}

/** The Status to answer for anything thrown; what is not ours is an internal error without its text. */
export function statusOf(thrown: unknown): Status & { readonly code: number } {
  const error = FairleadError.from(thrown);
  const cause = error.cause;
  if (isRecord(cause) && cause.kind === "Status" && typeof cause.code === "number")
    return cause as unknown as Status & { readonly code: number };
  const reason = Object.keys(codes).find((name) => codes[name]?.[1] === error.code) ?? "InternalError";
  const ours = thrown instanceof FairleadError;
  return statusOf(failure(reason, ours ? error.message : "Internal error occurred: see the log of the API server"));
}

function resourceName(kind: Named): string {
  return kind.group === "" ? kind.plural : `${kind.plural}.${kind.group}`;
}

function detailsOf(kind: Named, name: string): Readonly<Record<string, unknown>> {
  return { name, ...(kind.group === "" ? {} : { group: kind.group }), kind: kind.plural };
}
