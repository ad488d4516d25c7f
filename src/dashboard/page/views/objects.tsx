/** Objects of users as a list, and one of them: what it says, what is wrong with it, whom it reaches and whether they have it. */
import type { ObjectDetail, ObjectRow } from "../../../read-api/index.ts";
import { useAsk } from "../ask.ts";
import { Link, ObjectLink, ProxyLink } from "../parts/link.tsx";
import { type Column, FilteredTable, Rows } from "../parts/table.tsx";
import { Diff, Lines, Time, Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { query } from "../place.ts";
import { Author, WhoHasIt } from "./changes.tsx";
import { Findings } from "./start.tsx";

export const objectColumns: readonly Column<ObjectRow>[] = [
  { title: "Object", show: ({ id }) => <ObjectLink id={id} /> },
  { title: "Generation", show: ({ generation }) => generation ?? "" },
  { title: "Problems", show: ({ problems }) => (problems === 0 ? "none" : problems) },
];

export function Objects() {
  return (
    <>
      <Title>Objects</Title>
      <p>
        <Link to="/edit">Write a new one</Link>
      </p>
      <FilteredTable<ObjectRow>
        list="objects"
        columns={objectColumns}
        rowKey={({ id }) => id}
        what="objects"
        empty="There is no object of Istio's kinds. Try `kubectl apply -f demo/config/reviews-v1.yaml`."
      />
    </>
  );
}

export function MeshObject() {
  const id = query.value.get("id") ?? "";
  const { value, error } = useAsk<ObjectDetail>("object", { id }).value;
  return (
    <>
      <Title>{id}</Title>
      <Trouble error={error} />
      {value ? (
        <>
          <Findings findings={value.findings} />
          <Programmed object={value} />
          <Parts object={value} />
          <h2>As it is written</h2>
          <p>
            <Link to="/edit" query={{ id }}>
              Edit it
            </Link>
          </p>
          <Lines label="YAML" text={`${value.yaml}${value.status ?? ""}`} />
          <History object={value} />
        </>
      ) : null}
    </>
  );
}

function Programmed({ object: { programmed } }: { readonly object: ObjectDetail }) {
  if (!programmed) return null;
  return (
    <>
      <h2>Who has it</h2>
      <p role="status">{programmed.message}</p>
      {programmed.refusing.map(({ proxy, part, words }) => (
        <p class="trouble" key={`${proxy} ${part}`}>
          <ProxyLink id={proxy} /> refuses {part}: {words}
        </p>
      ))}
      {programmed.waiting.length === 0 ? null : (
        <p>
          Not yet:{" "}
          {programmed.waiting.slice(0, 20).map((proxy) => (
            <>
              <ProxyLink key={proxy} id={proxy} />{" "}
            </>
          ))}
        </p>
      )}
    </>
  );
}

const partColumns: readonly Column<ObjectDetail["parts"][number]>[] = [
  { title: "Type", show: ({ type }) => type },
  { title: "Name", show: ({ name }) => <bdi>{name}</bdi> },
  { title: "Proxies", show: ({ proxies }) => proxies },
];

function Parts({ object: { parts } }: { readonly object: ObjectDetail }) {
  return (
    <>
      <h2>What it makes in proxies</h2>
      {parts.length === 0 ? (
        <p>Nothing that a connected proxy is sent was made from it.</p>
      ) : (
        <Rows caption="parts" columns={partColumns} rows={parts} rowKey={({ type, name }) => `${type} ${name}`} />
      )}
    </>
  );
}

function History({ object: { changes } }: { readonly object: ObjectDetail }) {
  if (changes.length === 0) return null;
  return (
    <>
      <h2>How it has changed</h2>
      {changes.map((change) => (
        <section key={change.id}>
          <h3>
            <Link to="/change" query={{ id: String(change.id) }}>
              {change.act} <Time at={change.at} />
            </Link>{" "}
            by <Author change={change} />
          </h3>
          <p>
            <WhoHasIt change={change} />
          </p>
          <Diff lines={change.diff} />
        </section>
      ))}
    </>
  );
}
