/** Marks of policies and faults in; letters for a picture, and words with their objects for a table, out. */
import type { Mark, MarkKind } from "../../../read-api/index.ts";
import { ObjectLink } from "./link.tsx";

/** In the order in which they are shown. */
const letters: Readonly<Record<MarkKind, string>> = {
  authorization: "A",
  authentication: "J",
  "mutual TLS": "S",
  patch: "P",
  extension: "X",
  fault: "F",
  mirror: "M",
  timeout: "T",
  retries: "R",
  rewrite: "W",
  "circuit breaker": "C",
};

/** One of each. */
export function lettersOf(marks: readonly Mark[]): string {
  const found = new Set(marks.map(({ what }) => what));
  return Object.entries(letters)
    .filter(([what]) => found.has(what as MarkKind))
    .map(([, letter]) => letter)
    .join(" ");
}

export const MarkLegend = () => (
  <ul class="legend marks">
    {Object.entries(letters).map(([what, letter]) => (
      <li key={what}>
        <b>{letter}</b> {what}
      </li>
    ))}
  </ul>
);

export function MarkList({ marks }: { readonly marks: readonly Mark[] }) {
  if (marks.length === 0) return null;
  return (
    <ul class="causes">
      {marks.map(({ what, says, object, field }) => (
        <li key={`${what} ${says} ${object} ${field}`}>
          <bdi>{says.includes(what) ? says : `${what}: ${says}`}</bdi>{" "}
          {object === undefined ? null : <ObjectLink id={object} field={field} />}
        </li>
      ))}
    </ul>
  );
}
