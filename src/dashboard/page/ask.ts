/** A path of the read API in; its answer as a signal, asked again when something moves, out. */
import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { moves } from "./live.ts";
import type { Query } from "./place.ts";
import { bearer, signOut } from "./session.ts";

export interface Answer<T> {
  readonly value?: T;
  /** Why there is none, or none that is new. */
  readonly error?: string;
}

/** A name that is empty asks nothing. */
export function useAsk<T>(name: string, params: Query = {}): ReadonlySignal<Answer<T>> {
  const set = Object.entries(params).filter((entry): entry is [string, string] => (entry[1] ?? "") !== "");
  return useAnswer(name === "" ? undefined : `/api/${name}?${new URLSearchParams(set)}`);
}

export interface TellOptions {
  /** False: it is asked once, whatever moves. */
  readonly follows?: boolean;
}

/** What is asked is in the body; undefined where nothing is asked yet. */
export const useTell = <T>(
  name: string,
  body: string | undefined,
  options: TellOptions = {},
): ReadonlySignal<Answer<T>> => useAnswer(body === undefined ? undefined : `/api/${name}`, body, options);

function useAnswer<T>(
  target: string | undefined,
  body?: string,
  { follows = true }: TellOptions = {},
): ReadonlySignal<Answer<T>> {
  const answer = useSignal<Answer<T>>({});
  const last = useRef(body);
  const moved = follows ? moves.value : "";
  useEffect(() => {
    // What was answered to another question is no answer to this one; a list stays until the next one is there.
    if (body !== last.current) answer.value = {};
    last.current = body;
    if (target === undefined) return;
    const stop = new AbortController();
    ask<T>(target, stop.signal, body === undefined ? {} : { method: "POST", body }).then(
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
  }, [target, body, moved]);
  return answer;
}

/** `more` as of `fetch`. What is refused is thrown in the words of whoever refused it. */
export async function ask<T>(target: string, signal: AbortSignal, more: RequestInit = {}): Promise<T> {
  const headers = { authorization: `Bearer ${bearer()}` };
  const answer = await fetch(target, { ...more, headers, signal }).catch((error) => {
    throw signal.aborted ? error : new Error("The control plane does not answer; what is shown may be old.");
  });
  if (answer.status === 401) signOut("This tab's sign-in has ended.");
  if (answer.ok) return (await answer.json()) as T;
  const said = (await answer.json().catch(() => ({}))) as { readonly error?: string; readonly remedy?: string };
  if (answer.status === 404 && said.remedy === undefined) throw new Error("There is no such thing, or no longer.");
  throw new Error(
    [said.error ?? `The control plane answered ${answer.status}`, said.remedy].filter(Boolean).join(": "),
  );
}
