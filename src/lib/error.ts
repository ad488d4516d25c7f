/** The one error class: what went wrong, as a stable code, with the cause and what to do about it. */

/** Stable names of failures; docs/reference/errors.md lists them, kept in step by a test. */
export type ErrorCode =
  | "usage"
  | "not-found"
  | "already-exists"
  | "conflict"
  | "invalid"
  | "too-large"
  | "unauthenticated"
  | "forbidden"
  | "unavailable"
  | "timeout"
  | "port-in-use"
  | "locked"
  | "missing-tool"
  | "no-permission"
  | "storage"
  | "internal";

export class FairleadError extends Error {
  override readonly name = "FairleadError";
  readonly code: ErrorCode;
  /** What the reader can do next. */
  readonly hint: string | undefined;

  constructor(code: ErrorCode, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
  }

  /** For the edges of the program, where anything may have been thrown. */
  static from(thrown: unknown, code: ErrorCode = "internal"): FairleadError {
    if (thrown instanceof FairleadError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new FairleadError(code, message, { cause: thrown });
  }
}

/** The system error code (`ENOENT`, `EADDRINUSE`, …) of something thrown, if it has one. */
export function systemCode(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !("code" in thrown)) return undefined;
  return typeof thrown.code === "string" ? thrown.code : undefined;
}

/** Or what its user may fill of it. */
export function isDiskFull(thrown: unknown): boolean {
  return ["ENOSPC", "EDQUOT"].includes(systemCode(thrown) ?? "");
}
