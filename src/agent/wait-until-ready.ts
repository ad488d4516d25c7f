/** Where the proxy of a Pod tells its readiness in; the moment at which it is ready out. */
import { FairleadError, wait } from "../lib/index.ts";
import { requestAnswer, type ServerAddress } from "./request-text.ts";

export interface WaitOptions {
  readonly at: ServerAddress;
  readonly path: string;
  readonly timeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly periodMs: number;
  readonly signal: AbortSignal;
}

/** Throws `timeout`, with what the last attempt brought. */
export async function waitUntilReady({ timeoutMs, signal, ...how }: WaitOptions): Promise<void> {
  const deadline = AbortSignal.timeout(timeoutMs);
  let missing = await missingFor(how);
  while (missing !== undefined) {
    await wait(how.periodMs, AbortSignal.any([deadline, signal])).catch(() => {});
    signal.throwIfAborted();
    if (deadline.aborted)
      throw new FairleadError("timeout", `timeout waiting for Envoy proxy to become ready. Last error: ${missing}`, {
        hint: "the proxy's own log says what it waits for",
      });
    missing = await missingFor(how);
  }
}

async function missingFor(how: Pick<WaitOptions, "at" | "path" | "requestTimeoutMs">): Promise<string | undefined> {
  try {
    const { status, body } = await requestAnswer({ at: how.at, path: how.path, timeoutMs: how.requestTimeoutMs });
    return status === 200 ? undefined : `HTTP status code ${status}: ${body.slice(0, 500)}`;
  } catch (error) {
    return FairleadError.from(error).message;
  }
}
