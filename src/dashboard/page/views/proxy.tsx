/** One proxy: whether it is in step, and what it is sent as a walk from listener to endpoint, each with who made it. */
import type {
  Cause,
  CertificateHolder,
  FoundLine,
  FoundLines,
  ProxyDetail,
  ProxyType,
  ResourceDetail,
  ResourceRow,
} from "../../../read-api/index.ts";
import { useAsk } from "../ask.ts";
import { Link, ObjectLink } from "../parts/link.tsx";
import { type Column, FilteredTable, Rows } from "../parts/table.tsx";
import { Lines, State, Time, Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { change, query } from "../place.ts";

/** In the order in which a request meets them. */
const walk = [
  ["LDS", "Listeners"],
  ["RDS", "Routes"],
  ["CDS", "Clusters"],
  ["EDS", "Endpoints"],
  ["ECDS", "Extensions"],
] as const;

export function Proxy() {
  const id = query.value.get("id") ?? "";
  const type = query.value.get("type") ?? "LDS";
  const name = query.value.get("name") ?? "";
  const { value, error } = useAsk<ProxyDetail>("proxy", { id }).value;
  return (
    <>
      <Title>{id}</Title>
      <Trouble error={error} />
      {value ? <Condition proxy={value} /> : null}
      <Search id={id} />
      <nav aria-label="What it is sent" class="tabs">
        {walk.map(([short, words]) => (
          <Link key={short} to="/proxy" query={{ id, type: short }} current={short === type}>
            {words}
          </Link>
        ))}
      </nav>
      {name === "" ? <Resources id={id} type={type} /> : <Resource id={id} type={type} name={name} />}
    </>
  );
}

const typeColumns: readonly Column<ProxyType>[] = [
  { title: "Type", show: ({ type }) => type },
  { title: "Has", show: ({ resources }) => resources },
  { title: "Sent", show: ({ sentAt }) => (sentAt === undefined ? "never" : <Time at={sentAt} />) },
  { title: "Acknowledged", show: ({ ackedAt }) => (ackedAt === undefined ? "never" : <Time at={ackedAt} />) },
  { title: "Refused", show: ({ error }) => <bdi>{error}</bdi> },
];

function Condition({ proxy }: { readonly proxy: ProxyDetail }) {
  return (
    <>
      <p>
        <State state={proxy.state} /> since <Time at={proxy.since} />. {proxy.kind} {proxy.version}, connected from{" "}
        {proxy.address} since <Time at={proxy.connectedAt} />. Identity: <bdi>{proxy.identity || "none proven"}</bdi>.
      </p>
      <Certificate holder={proxy.certificate} />
      {proxy.refuses.map(({ resource, words, objects }) => (
        <p class="trouble" key={`${resource} ${words}`}>
          Refuses {resource}: {words}. Made by <Causes causes={objects} />
        </p>
      ))}
      {proxy.held.map(({ type, name, clusters }) => (
        <p key={`${type} ${name}`}>
          {type} {name} waits for {clusters.join(", ")}.
        </p>
      ))}
      <details>
        <summary>What it was sent and has acknowledged</summary>
        <Rows caption="types" columns={typeColumns} rows={proxy.types} rowKey={({ type }) => type} />
      </details>
    </>
  );
}

function Certificate({ holder }: { readonly holder: CertificateHolder | undefined }) {
  if (!holder) return <p>Nothing is known of its certificate: it has proven nothing here.</p>;
  return (
    <p>
      Its certificate is signed by {holder.signedBy}
      {holder.until === undefined ? null : (
        <>
          , has serial <bdi>{holder.serial}</bdi> and ends <Time at={holder.until} />
        </>
      )}
      . It {holder.believesAll ? "believes" : "does not yet believe"} all roots of the mesh.
    </p>
  );
}

const foundColumns = (id: string): readonly Column<FoundLine>[] => [
  {
    title: "Where",
    show: ({ type, name }) => (
      <Link to="/proxy" query={{ id, type, name }}>
        {type} <bdi>{name}</bdi>
      </Link>
    ),
  },
  { title: "Line", show: ({ line }) => <code>{line}</code> },
];

function Search({ id }: { readonly id: string }) {
  const words = query.value.get("find") ?? "";
  return (
    <>
      <p class="filter">
        <label>
          Find in all that it is sent{" "}
          <input type="search" value={words} onInput={(event) => change({ find: event.currentTarget.value })} />
        </label>
      </p>
      {words.trim().length < 2 ? null : <Found id={id} words={words} />}
    </>
  );
}

function Found({ id, words }: { readonly id: string; readonly words: string }) {
  const { value, error } = useAsk<FoundLines>("search", { proxy: id, q: words }).value;
  return (
    <>
      <Trouble error={error} />
      {value ? (
        <p role="status">
          {value.lines.length} lines in {value.resources} resources{value.isWhole ? "." : "; there may be more."}
        </p>
      ) : null}
      {value && value.lines.length > 0 ? (
        <Rows
          caption="found"
          columns={foundColumns(id)}
          rows={value.lines}
          rowKey={({ type, name, line }) => `${type} ${name} ${line}`}
        />
      ) : null}
    </>
  );
}

function Resources({ id, type }: { readonly id: string; readonly type: string }) {
  const columns: readonly Column<ResourceRow>[] = [
    {
      title: "Name",
      show: ({ name }) => (
        <Link to="/proxy" query={{ id, type, name }}>
          <bdi>{name}</bdi>
        </Link>
      ),
    },
    { title: "Made by", show: ({ causes }) => <Causes causes={causes} /> },
  ];
  return (
    <FilteredTable<ResourceRow>
      list="resources"
      params={{ proxy: id, type }}
      columns={columns}
      rowKey={({ name }) => name}
      what={`of ${type}`}
      empty={`The proxy is sent no ${type}.`}
    />
  );
}

function Causes({ causes }: { readonly causes: readonly Cause[] }) {
  if (causes.length === 0) return <>the mesh itself</>;
  return (
    <ul class="causes">
      {causes.map(({ object, field }) => (
        <li key={`${object} ${field}`}>
          <ObjectLink id={object} field={field} />
        </li>
      ))}
    </ul>
  );
}

function Resource({ id, type, name }: { readonly id: string; readonly type: string; readonly name: string }) {
  const { value, error } = useAsk<ResourceDetail>("resource", { proxy: id, type, name }).value;
  return (
    <>
      <h2>
        {type} <bdi>{name}</bdi>
      </h2>
      <Trouble error={error} />
      {value ? (
        <>
          <h3>Made by</h3>
          <Causes causes={value.causes} />
          <h3>Leads to</h3>
          {value.next.length === 0 ? (
            <p>Nothing else.</p>
          ) : (
            <ul>
              {value.next.map((next) => (
                <li key={`${next.type} ${next.name}`}>
                  <Link to="/proxy" query={{ id, type: next.type, name: next.name }}>
                    {next.type} <bdi>{next.name}</bdi>
                  </Link>
                </li>
              ))}
            </ul>
          )}
          <h3>As Envoy has it</h3>
          <Lines label={`${type} ${name}`} text={JSON.stringify(value.json, null, 2)} />
        </>
      ) : null}
    </>
  );
}
