/** gRPC status: numbers, the error that carries one, and the text forms on the wire. */
import { type ErrorCode, FairleadError } from "../lib/index.ts";

export const status = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

export type Status = (typeof status)[keyof typeof status];

const codeOf: Record<Status, ErrorCode> = {
  0: "internal",
  1: "unavailable",
  2: "internal",
  3: "invalid",
  4: "timeout",
  5: "not-found",
  6: "already-exists",
  7: "forbidden",
  8: "too-large",
  9: "conflict",
  10: "conflict",
  11: "invalid",
  12: "not-found",
  13: "internal",
  14: "unavailable",
  15: "storage",
  16: "unauthenticated",
};

const statusOf: Partial<Record<ErrorCode, Status>> = {
  invalid: status.invalidArgument,
  usage: status.invalidArgument,
  timeout: status.deadlineExceeded,
  "not-found": status.notFound,
  "already-exists": status.alreadyExists,
  forbidden: status.permissionDenied,
  "no-permission": status.permissionDenied,
  "too-large": status.resourceExhausted,
  conflict: status.aborted,
  unavailable: status.unavailable,
  unauthenticated: status.unauthenticated,
};

/** A call's end other than OK, on either side. */
export class RpcError extends FairleadError {
  readonly status: Status;

  constructor(code: Status, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(codeOf[code], message, options);
    this.status = code;
  }
}

/** What a client is told of something thrown: our own errors by their text, anything else opaque. */
export function toRpcError(thrown: unknown): RpcError {
  if (thrown instanceof RpcError) return thrown;
  if (thrown instanceof FairleadError) {
    const known = statusOf[thrown.code];
    if (known !== undefined) return new RpcError(known, thrown.message, { cause: thrown });
  }
  return new RpcError(status.internal, "internal error", { cause: thrown });
}

/** By number, as Go writes them: InvalidArgument. */
export const statusNames: ReadonlyMap<number, string> = new Map(
  Object.entries({ ...status, OK: status.ok, canceled: status.cancelled }).map(([name, code]) => [
    code,
    name.charAt(0).toUpperCase() + name.slice(1),
  ]),
);

const statuses = new Map<number, Status>(Object.values(status).map((value) => [value, value]));

/** The status a peer sent; a number outside the table is UNKNOWN, as the gRPC rules say. */
export function parseStatus(text: string | undefined): Status {
  return text !== undefined && /^[0-9]{1,2}$/.test(text)
    ? (statuses.get(Number(text)) ?? status.unknown)
    : status.unknown;
}

const maxMessageBytes = 4096;

/** Escapes `%` and every byte outside 0x20-0x7E, nothing else, so that plain clients read plain text. */
export function encodeMessage(text: string): string {
  let out = "";
  for (const byte of Buffer.from(text).subarray(0, maxMessageBytes)) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25;
    out += plain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return out;
}

/** A malformed escape stays as it is: the text is only for people. */
export function decodeMessage(text: string): string {
  if (!text.includes("%")) return text;
  const bytes: number[] = [];
  const raw = Buffer.from(text);
  for (let i = 0; i < raw.length; i++) {
    const hex = raw.toString("latin1", i + 1, i + 3);
    const escaped = raw[i] === 0x25 && /^[0-9a-fA-F]{2}$/.test(hex);
    bytes.push(escaped ? Number.parseInt(hex, 16) : (raw[i] ?? 0));
    if (escaped) i += 2;
  }
  return Buffer.from(bytes).toString();
}
