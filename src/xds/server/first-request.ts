/** The request that opens a stream, in time; health reports that come before the proxy itself are passed over. */
import { wait } from "../../lib/index.ts";
import { RpcError, status } from "../../rpc/index.ts";
import type { Incoming } from "./incoming.ts";

const healthType = "type.googleapis.com/istio.v1.HealthInformation";

export async function nextRequest(requests: AsyncGenerator<Incoming>): Promise<Incoming | undefined> {
  const next = await requests.next();
  return next.done ? undefined : next.value;
}

export async function firstRequest(
  requests: AsyncGenerator<Incoming>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Incoming | undefined> {
  const done = new AbortController();
  const late = wait(timeoutMs, AbortSignal.any([signal, done.signal])).then(() => {
    throw new RpcError(status.deadlineExceeded, "no request has come");
  });
  late.catch(() => {});
  try {
    let incoming: Incoming | undefined;
    do incoming = await Promise.race([nextRequest(requests), late]);
    while (incoming?.typeUrl === healthType);
    return incoming;
  } finally {
    done.abort();
  }
}
