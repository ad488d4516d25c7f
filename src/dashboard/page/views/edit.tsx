/** An object as YAML, with what the API would say to it and what it would change in proxies, before anything is applied. */
import { useSignal } from "@preact/signals";
import type { TargetedKeyboardEvent } from "preact";
import { useEffect } from "preact/hooks";
import type { DiffAnswer, Mistake, ObjectDetail } from "../../../read-api/index.ts";
import type { Abilities, ApplyAnswer } from "../../apply-write.ts";
import { type Answer, ask, useAsk, useTell } from "../ask.ts";
import { type Draft, forget, keep, useDraft } from "../draft.ts";
import { ObjectLink } from "../parts/link.tsx";
import { Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { query } from "../place.ts";
import { Preview } from "./preview.tsx";

/** While somebody types nobody is asked. */
const restMs = 500;
const maxChars = 1_000_000;

export function Edit() {
  const id = query.value.get("id") ?? "";
  const { value: object, error } = useAsk<ObjectDetail>(id === "" ? "" : "object", { id }).value;
  const { value: may } = useAsk<Abilities>("abilities").value;
  const draft = useDraft(id);
  useEffect(() => {
    if (!draft.value && (object || id === ""))
      draft.value = { text: object?.yaml ?? "", generation: object?.generation ?? 0 };
  }, [object, id, draft.value]);
  const write = (text: string): void => {
    draft.value = { generation: 0, ...draft.value, text };
    keep(id, draft.value);
  };
  const applied = (generation: number): void => {
    forget(id);
    if (draft.value) draft.value = { ...draft.value, generation };
  };
  const reopen = (): void => {
    forget(id);
    draft.value = undefined;
  };
  const current = draft.value;
  return (
    <>
      <Title>{id === "" ? "A new object" : `Edit ${id}`}</Title>
      {id === "" ? null : (
        <p>
          <ObjectLink id={id} />
        </p>
      )}
      <Trouble error={error} />
      {current ? (
        <>
          <Stale draft={current} object={object} reopen={reopen} />
          <Text text={current.text} write={write} />
          <Judged key={id} id={id} draft={current} object={object} mayEdit={may?.edit === true} applied={applied} />
        </>
      ) : null}
    </>
  );
}

interface StaleProps {
  readonly draft: Draft;
  readonly object: ObjectDetail | undefined;
  readonly reopen: () => void;
}

/** Statuses are written often, and are nobody's change: what is newer is told by the generation. */
const isOvertaken = (draft: Draft, object: ObjectDetail | undefined): boolean =>
  (object?.generation ?? 0) > draft.generation;

function Stale({ draft, object, reopen }: StaleProps) {
  if (!object || draft.text === object.yaml) return null;
  return (
    <p>
      {isOvertaken(draft, object)
        ? "The object was written by somebody else since it was opened here. "
        : "This text was changed. "}
      <button type="button" onClick={reopen}>
        Open it again
      </button>
    </p>
  );
}

function Text({ text, write }: { readonly text: string; readonly write: (text: string) => void }) {
  return (
    <label class="editor">
      YAML
      <textarea
        value={text}
        rows={22}
        maxLength={maxChars}
        spellcheck={false}
        autocapitalize="off"
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={indent}
      />
    </label>
  );
}

/** A new line begins where the last one did. */
function indent(event: TargetedKeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  const { value, selectionStart } = event.currentTarget;
  const line = value.slice(value.lastIndexOf("\n", selectionStart - 1) + 1, selectionStart);
  const blank = /^ */.exec(line)?.[0] ?? "";
  if (blank === "") return;
  event.preventDefault();
  // The only way that the browser can take back.
  document.execCommand("insertText", false, `\n${blank}`);
}

function useRested(text: string): string {
  const rested = useSignal(text);
  useEffect(() => {
    const timer = setTimeout(() => {
      rested.value = text;
    }, restMs);
    return () => clearTimeout(timer);
  }, [text]);
  return rested.value;
}

interface JudgedProps {
  readonly id: string;
  readonly draft: Draft;
  readonly object: ObjectDetail | undefined;
  readonly mayEdit: boolean;
  readonly applied: (generation: number) => void;
}

function Judged({ id, draft, object, mayEdit, applied }: JudgedProps) {
  const rested = useRested(draft.text);
  const isNews = rested.trim() !== "" && rested !== object?.yaml;
  const body = isNews ? JSON.stringify({ objects: rested, resources: true, analyze: true }) : undefined;
  const { value, error } = useTell<DiffAnswer | Mistake>("diff", body, { follows: false }).value;
  const isJudged = value !== undefined && rested === draft.text;
  const isGood = isJudged && !("error" in value) && value.refused.length === 0;
  return (
    <>
      <h2>What it would do</h2>
      <Trouble error={error} />
      {isNews ? <Preview answer={value} /> : <p role="status">Nothing is changed yet.</p>}
      {mayEdit ? (
        <Apply id={id} draft={draft} object={object} isReady={isGood} applied={applied} />
      ) : (
        <p>
          This page is for reading: apply it with <code>kubectl apply</code>, or allow it with{" "}
          <code>--dashboard-edit</code>.
        </p>
      )}
    </>
  );
}

interface ApplyProps extends Omit<JudgedProps, "mayEdit"> {
  readonly isReady: boolean;
}

function Apply({ id, draft, object, isReady, applied }: ApplyProps) {
  const answer = useSignal<Answer<ApplyAnswer>>({});
  const force = useSignal(false);
  const apply = (): void => {
    answer.value = {};
    const { resourceVersion } = object ?? {};
    const body = JSON.stringify({ objects: draft.text, force: force.value, resourceVersion });
    ask<ApplyAnswer>("/api/apply", new AbortController().signal, { method: "POST", body }).then(
      (value) => {
        answer.value = { value };
        if (value.refused.length === 0) applied(value.applied[0]?.generation ?? 0);
      },
      (error: unknown) => {
        answer.value = { error: error instanceof Error ? error.message : "" };
      },
    );
  };
  const { value, error } = answer.value;
  return (
    <>
      <h2>Apply it</h2>
      {value?.refused.some(({ isOwned }) => isOwned) || force.value ? (
        <p>
          <label>
            <input
              type="checkbox"
              checked={force.value}
              onChange={(event) => {
                force.value = event.currentTarget.checked;
              }}
            />{" "}
            take over fields that others have set
          </label>
        </p>
      ) : null}
      <p>
        <button type="button" disabled={!isReady || isOvertaken(draft, object)} onClick={apply}>
          Apply
        </button>
      </p>
      <Trouble error={error} />
      {value?.refused.map(({ object, message, remedy }) => (
        <p class="trouble" role="alert" key={object}>
          <bdi>{object}</bdi> is refused: <bdi>{message}</bdi> {remedy}
        </p>
      ))}
      {value && value.applied.length > 0 ? (
        <p role="status" class="in-step">
          Applied:{" "}
          {value.applied.map((one) => (
            <span key={one.object}>
              <ObjectLink id={id === "" ? one.object : id} />{" "}
            </span>
          ))}
        </p>
      ) : null}
    </>
  );
}
