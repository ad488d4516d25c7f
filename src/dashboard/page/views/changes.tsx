/** What was changed of the mesh's objects, newest first: by whom, how many proxies have it, and who refused it. */
import type { Change, ChangeRow } from "../../../read-api/index.ts";
import { Link, ObjectLink } from "../parts/link.tsx";
import { type Column, FilteredTable } from "../parts/table.tsx";
import { Time } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";

const columns: readonly Column<ChangeRow>[] = [
  { title: "When", show: ({ at }) => <Time at={at} /> },
  { title: "Object", show: ({ object }) => <ObjectLink id={object} /> },
  { title: "What", show: ({ act }) => act },
  { title: "By", show: (change) => <Author change={change} /> },
  {
    title: "Difference",
    show: ({ id, object, more, less }) => (
      <Link to="/change" query={{ id: String(id) }} label={`${more} lines more, ${less} less of ${object}`}>
        {`${more} lines more, ${less} less`}
      </Link>
    ),
  },
  { title: "Proxies", show: (change) => <WhoHasIt change={change} /> },
];

export function Author({ change: { author, act } }: { readonly change: Pick<Change, "author" | "act"> }) {
  if (!author) return <>{act === "removed" ? "the API does not say" : "not noted"}</>;
  return <bdi title={author.operation}>{author.manager}</bdi>;
}

export function WhoHasIt({ change: { proxies } }: { readonly change: Pick<Change, "proxies"> }) {
  if (!proxies) return <>not told yet</>;
  const { affected, acknowledged, waiting, refusing, isOvertaken } = proxies;
  if (affected === 0) return <>{isOvertaken ? "overtaken by the next change" : "concerns none"}</>;
  const [first] = refusing;
  return (
    <>
      <span class={first ? "refuses" : acknowledged === affected ? "in-step" : "behind"}>
        {`${acknowledged} of ${affected} have it`}
      </span>
      {waiting > 0 ? `, ${waiting} have not answered` : ""}
      {isOvertaken ? "; overtaken by the next change" : ""}
      {first ? (
        <p class="refuses">
          <bdi>{`${first.proxy} refused ${first.part}: ${first.words}`}</bdi>
        </p>
      ) : null}
    </>
  );
}

export function Changes() {
  return (
    <>
      <Title>Changes</Title>
      <FilteredTable<ChangeRow>
        list="changes"
        columns={columns}
        rowKey={({ id }) => id}
        what="changes"
        empty="Nothing was changed since the control plane began. What you apply now is shown here at once."
      />
    </>
  );
}
