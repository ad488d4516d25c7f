/** A question on live requests in; those that come in its minute, the newest first, as signals out. */
import { batch, type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { LiveRequest, TapAnswer } from "../../read-api/index.ts";
import { ask } from "./ask.ts";

export type TapState = "idle" | "running" | "paused" | "stopped" | "ended" | "failed";

export interface SeenRequest extends LiveRequest {
  /** Grows with each. */
  readonly id: number;
}

export interface Tap {
  readonly state: ReadonlySignal<TapState>;
  readonly rows: ReadonlySignal<readonly SeenRequest[]>;
  readonly counts: ReadonlySignal<TapCounts>;
  readonly error: ReadonlySignal<string | undefined>;
  /** Forgets what was there before. */
  start(question: URLSearchParams, seconds: number): void;
  stop(): void;
}

export interface TapCounts {
  readonly seen: number;
  readonly leftOut: number;
  readonly proxies: number;
  readonly secondsLeft: number;
}

/** Nobody reads more; older ones go. */
const maxRows = 200;
/** A busy mesh would have an answer ready at once, again and again. */
const pauseMs = 1_000;
const none: TapCounts = { seen: 0, leftOut: 0, proxies: 0, secondsLeft: 0 };

/** What is looked at now: it ends with the view, and waits while nobody looks. */
interface Look {
  readonly question: URLSearchParams;
  /** When it began, or went on. */
  beganMs: number;
  leftMs: number;
  current: AbortController | undefined;
}

export function useTap(): Tap {
  const state = useSignal<TapState>("idle");
  const rows = useSignal<readonly SeenRequest[]>([]);
  const counts = useSignal(none);
  const error = useSignal<string | undefined>(undefined);
  const look = useRef<Look | undefined>(undefined);

  const take = ({ requests, leftOut, proxies }: TapAnswer, leftMs: number): void => {
    const { seen, leftOut: before, proxies: most } = counts.value;
    const fresh = requests.map((request, i) => ({ ...request, id: seen + i })).reverse();
    batch(() => {
      rows.value = [...fresh, ...rows.value].slice(0, maxRows);
      counts.value = {
        seen: seen + requests.length,
        leftOut: before + leftOut,
        proxies: Math.max(most, proxies),
        secondsLeft: Math.max(0, Math.ceil(leftMs / 1000)),
      };
    });
  };

  const halt = (next: TapState): void => {
    const mine = look.current;
    if (mine && state.value === "running") mine.leftMs = leftOf(mine);
    mine?.current?.abort();
    state.value = next;
  };

  const run = (mine: Look): void => {
    const stop = new AbortController();
    mine.current = stop;
    mine.beganMs = performance.now();
    state.value = "running";
    follow(mine.question, mine.leftMs, stop.signal, (got) => take(got, leftOf(mine))).then(
      () => {
        if (!stop.signal.aborted) halt("ended");
      },
      (thrown: unknown) => {
        if (stop.signal.aborted) return;
        error.value = thrown instanceof Error ? thrown.message : "";
        halt("failed");
      },
    );
  };

  useEffect(() => {
    const turn = (): void => {
      const mine = look.current;
      if (document.hidden && state.value === "running") halt("paused");
      else if (!document.hidden && mine && state.value === "paused")
        if (mine.leftMs > 0) run(mine);
        else state.value = "ended";
    };
    document.addEventListener("visibilitychange", turn);
    return () => {
      document.removeEventListener("visibilitychange", turn);
      look.current?.current?.abort();
    };
  }, []);

  return {
    ...{ state, rows, counts, error },
    start(question, seconds) {
      look.current?.current?.abort();
      batch(() => {
        rows.value = [];
        counts.value = { ...none, secondsLeft: seconds };
        error.value = undefined;
      });
      look.current = { question, beganMs: 0, leftMs: seconds * 1000, current: undefined };
      run(look.current);
    },
    stop: () => halt("stopped"),
  };
}

const leftOf = ({ leftMs, beganMs }: Look): number => leftMs - (performance.now() - beganMs);

/** Until it is done; where it is stopped, agents are told at once. */
async function follow(
  question: URLSearchParams,
  forMs: number,
  stop: AbortSignal,
  take: (got: TapAnswer) => void,
): Promise<void> {
  const first = await ask<TapAnswer>(`/api/requests?${question}&for=${Math.ceil(forMs)}ms`, stop);
  const session = `/api/requests?session=${first.session}`;
  stop.addEventListener("abort", () => {
    ask(`${session}&end`, new AbortController().signal, { keepalive: true }).catch(() => {});
  });
  for (let got = first; !got.done && !stop.aborted; ) {
    got = await ask<TapAnswer>(session, stop);
    if (!stop.aborted) take(got);
    if (!got.done) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
