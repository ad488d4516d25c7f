/** What holds for a place, as a table with the object and field that said so. */
import type { Effect } from "../../../read-api/index.ts";
import { ObjectLink } from "./link.tsx";
import { type Column, Rows } from "./table.tsx";

const columns: readonly Column<Effect>[] = [
  { title: "About", show: ({ about }) => about },
  { title: "What holds", show: ({ says }) => <bdi>{says}</bdi> },
  { title: "Said by", show: ({ object, field }) => <SaidBy object={object} field={field} /> },
];

function SaidBy({ object, field }: { readonly object?: string | undefined; readonly field?: string | undefined }) {
  return object === undefined ? <>nobody, or nobody that you may see</> : <ObjectLink id={object} field={field} />;
}

export const Effects = ({ effects }: { readonly effects: readonly Effect[] }) => (
  <Rows
    caption="what holds"
    columns={columns}
    rows={effects}
    rowKey={({ about, says, object, field }) => `${about} ${says} ${object} ${field}`}
  />
);
