/** The time of one stream's requests in; how long the next one must wait out. */
import { wait } from "../../lib/index.ts";

/** Slows a client down that sends more requests than any proxy needs; it waits, its stream stays. */
export function createPace(perSecond: number, signal: AbortSignal): () => Promise<void> | undefined {
  let tokens = perSecond * 10;
  let lastMs = performance.now();
  return () => {
    const nowMs = performance.now();
    tokens = Math.min(perSecond * 10, tokens + ((nowMs - lastMs) / 1000) * perSecond);
    lastMs = nowMs;
    // Below nothing it is in debt, which it waits out before its next request.
    tokens--;
    return tokens < 0 ? wait((-tokens * 1000) / perSecond, signal) : undefined;
  };
}
