/** The `grpc-timeout` header: text in, milliseconds out, and back. */
import { RpcError, status } from "./status.ts";

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/** Longer waits than this are no deadline at all, and would overflow a timer. */
const longestMs = 2 ** 31 - 1;

export function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const match = /^([0-9]{1,8})([HMSmun])$/.exec(text);
  const unit = unitMs[match?.[2] ?? ""];
  if (!match || unit === undefined) throw new RpcError(status.invalidArgument, "grpc-timeout is malformed");
  const ms = Math.ceil(Number(match[1]) * unit);
  return ms > longestMs ? undefined : ms;
}

export function formatTimeout(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  return whole < 100_000_000 ? `${whole}m` : `${Math.min(99_999_999, Math.ceil(whole / 1000))}S`;
}
