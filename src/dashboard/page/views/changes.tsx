/** What was changed of the mesh's objects, newest first, each with its difference. */
import type { Change } from "../../mesh-reads.ts";
import { ObjectLink } from "../parts/link.tsx";
import { type Column, FilteredTable } from "../parts/table.tsx";
import { Diff, Time } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";

const columns: readonly Column<Change>[] = [
  { title: "When", show: ({ at }) => <Time at={at} /> },
  { title: "Object", show: ({ object }) => <ObjectLink id={object} /> },
  { title: "What", show: ({ act }) => act },
  {
    title: "Difference",
    show: ({ diff }) => (
      <details>
        <summary>{count(diff)}</summary>
        <Diff lines={diff} />
      </details>
    ),
  },
];

function count(diff: readonly string[]): string {
  const of = (mark: string): number => diff.filter((line) => line.startsWith(mark)).length;
  return `${of("+")} lines more, ${of("-")} less`;
}

export function Changes() {
  return (
    <>
      <Title>Changes</Title>
      <FilteredTable<Change>
        list="changes"
        columns={columns}
        rowKey={({ id }) => id}
        what="changes"
        empty="Nothing was changed since the control plane began. What you apply now is shown here at once."
      />
    </>
  );
}
