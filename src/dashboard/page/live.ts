/** The server's word that something has moved in; a signal that views ask again by, out. One stream, closed while nobody looks. */
import { effect, signal } from "@preact/signals";
import { bearer, signedOut, signOut } from "./session.ts";

export const moves = signal("");
export const connection = signal<"live" | "away" | "paused">("paused");

let current: AbortController | undefined;
let waitMs = 1000;

export function followLive(): void {
  document.addEventListener("visibilitychange", () => (document.hidden ? pause() : begin()));
  // Begins anew for whoever signs in.
  effect(() => {
    if (signedOut.value === undefined && !document.hidden) begin();
  });
}

function pause(): void {
  current?.abort();
  current = undefined;
  connection.value = "paused";
}

function begin(): void {
  if (current || signedOut.value !== undefined) return;
  const mine = new AbortController();
  current = mine;
  read(mine.signal)
    .catch(() => {})
    .finally(() => {
      if (current !== mine) return;
      current = undefined;
      connection.value = "away";
      // Longer from time to time, so that many tabs do not meet a control plane that has just come back.
      setTimeout(() => !document.hidden && begin(), waitMs * (1 + Math.random()));
      waitMs = Math.min(waitMs * 2, 15_000);
    });
}

async function read(stop: AbortSignal): Promise<void> {
  const answer = await fetch("/api/live", { headers: { authorization: `Bearer ${bearer()}` }, signal: stop });
  if (answer.status === 401) signOut("This tab's sign-in has ended.");
  if (!answer.ok || !answer.body) return;
  connection.value = "live";
  waitMs = 1000;
  let rest = "";
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data: ")) moves.value = line.slice("data: ".length);
  }
}
