/** Small things that are shown in many places: a time, a state, lines of a text. */
import type { ComponentChildren } from "preact";

/** In the zone of whoever looks; UTC where one points. */
export function Time({ at, isExact = false }: { readonly at: string; readonly isExact?: boolean }) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{at}</span>;
  return (
    <time dateTime={at} title={date.toISOString()}>
      {isExact ? date.toLocaleTimeString(undefined, exactly) : date.toLocaleString()}
    </time>
  );
}

/** Of today, to the millisecond. */
const exactly = { hour: "numeric", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 } as const;

const marks: Readonly<Record<string, string>> = { error: "✕", warning: "!", info: "i" };

/** Never by colour alone. */
export const Level = ({ level }: { readonly level: string }) => (
  <span class={`level ${level}`}>
    <span aria-hidden="true">{marks[level] ?? "·"}</span> {level}
  </span>
);

export const State = ({ state }: { readonly state: string }) => (
  <span class={`state ${state.replaceAll(" ", "-")}`}>{state}</span>
);

/** A place that scrolls, so that the keyboard must reach it. */
export function Scrolled({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  );
}

export function Lines({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <Scrolled label={label}>
      <pre>{text}</pre>
    </Scrolled>
  );
}

const marksOf = (line: string): string => (line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "");

export function Diff({ lines }: { readonly lines: readonly string[] }) {
  return (
    <Scrolled label="Difference">
      <pre>
        {lines.map((line, i) => (
          <span key={i} class={marksOf(line)}>{`${line}\n`}</span>
        ))}
      </pre>
    </Scrolled>
  );
}

export const Trouble = ({ error }: { readonly error: string | undefined }) =>
  error === undefined ? null : (
    <p class="trouble" role="alert">
      {error}
    </p>
  );
