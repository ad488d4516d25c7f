/** An object's text as somebody edits it in; the same after the page was loaded again, until the tab is closed, out. */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

export interface Draft {
  readonly text: string;
  /** Of the object when it was opened, or last applied here; 0 for one that is new. */
  readonly generation: number;
}

const keyOf = (id: string): string => `fairlead-draft ${id}`;

/** Undefined until there is something to edit. */
export function useDraft(id: string): Signal<Draft | undefined> {
  const draft = useSignal<Draft | undefined>(kept(id));
  useEffect(() => {
    draft.value = kept(id);
  }, [id]);
  return draft;
}

function kept(id: string): Draft | undefined {
  const text = sessionStorage.getItem(keyOf(id));
  return text === null ? undefined : (JSON.parse(text) as Draft);
}

export function keep(id: string, draft: Draft): void {
  try {
    sessionStorage.setItem(keyOf(id), JSON.stringify(draft));
  } catch {
    // There is no room: then it lasts as long as the page.
  }
}

export const forget = (id: string): void => sessionStorage.removeItem(keyOf(id));
