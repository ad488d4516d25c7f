/** A bound on the requests of one stream. */
import { wait } from "../../lib/index.ts";

/** Slows a client down that sends more requests than any proxy needs; it waits, its stream stays. */
export function createPace(perSecond: number, signal: AbortSignal): () => Promise<void> {
  let tokens = perSecond * 10;
  let lastMs = performance.now();
  return async () => {
    const nowMs = performance.now();
    tokens = Math.min(perSecond * 10, tokens + ((nowMs - lastMs) / 1000) * perSecond);
    lastMs = nowMs;
    if (tokens < 1) await wait(1000 / perSecond, signal);
    tokens = Math.max(0, tokens - 1);
  };
}
