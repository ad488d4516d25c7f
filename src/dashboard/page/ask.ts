/** A path of the read API in; its answer as a signal, asked again when something moves, out. */
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { moves } from "./live.ts";
import type { Query } from "./place.ts";
import { bearer, signOut } from "./session.ts";

export interface Answer<T> {
  readonly value?: T;
  /** Why there is none, or none that is new. */
  readonly error?: string;
}

export function useAsk<T>(name: string, params: Query = {}): ReadonlySignal<Answer<T>> {
  const answer = useSignal<Answer<T>>({});
  const set = Object.entries(params).filter((entry): entry is [string, string] => (entry[1] ?? "") !== "");
  const target = `/api/${name}?${new URLSearchParams(set)}`;
  const moved = moves.value;
  useEffect(() => {
    const stop = new AbortController();
    ask<T>(target, stop.signal).then(
      (value) => {
        if (!stop.signal.aborted) answer.value = { value };
      },
      (error: unknown) => {
        // What was shown stays, with a word that it is old.
        if (!stop.signal.aborted)
          answer.value = { ...answer.value, error: error instanceof Error ? error.message : "" };
      },
    );
    return () => stop.abort();
  }, [target, moved]);
  return answer;
}

async function ask<T>(target: string, signal: AbortSignal): Promise<T> {
  const answer = await fetch(target, { headers: { authorization: `Bearer ${bearer()}` }, signal }).catch((error) => {
    throw signal.aborted ? error : new Error("The control plane does not answer; what is shown may be old.");
  });
  if (answer.status === 401) signOut("This tab's sign-in has ended.");
  if (answer.status === 404) throw new Error("There is no such thing, or no longer.");
  if (!answer.ok) throw new Error(`The control plane answered ${answer.status}.`);
  return (await answer.json()) as T;
}
