/** Namespaces as a list, and one of them: what holds in it, who talks with it, and what is in it. */
import type { NamespaceDetail, NamespaceRow } from "../../../read-api/index.ts";
import { useAsk } from "../ask.ts";
import { Charts } from "../parts/charts.tsx";
import { Effects } from "../parts/effects.tsx";
import { Link, NamespaceLink } from "../parts/link.tsx";
import { lastSeconds, Range } from "../parts/range.tsx";
import { type Column, FilteredTable, Rows } from "../parts/table.tsx";
import { Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { query } from "../place.ts";
import { Calls } from "./edges.tsx";
import { objectColumns } from "./objects.tsx";
import { proxyColumns } from "./proxies.tsx";
import { serviceColumns } from "./services.tsx";

const columns: readonly Column<NamespaceRow>[] = [
  { title: "Namespace", show: ({ name }) => <NamespaceLink name={name} /> },
  { title: "Services", show: ({ services }) => services },
  { title: "Proxies", show: ({ proxies }) => proxies },
  { title: "Objects", show: ({ objects }) => objects },
  { title: "Problems", show: ({ problems }) => (problems === 0 ? "none" : problems) },
  { title: "Mutual TLS", show: ({ mutualTls }) => mutualTls },
];

export function Namespaces() {
  return (
    <>
      <Title>Namespaces</Title>
      <FilteredTable<NamespaceRow>
        list="namespaces"
        columns={columns}
        rowKey={({ name }) => name}
        what="namespaces"
        empty="There is no namespace that you may see."
      />
    </>
  );
}

export function Namespace() {
  const id = query.value.get("id") ?? "";
  const { value, error } = useAsk<NamespaceDetail>("namespace", { id, last: lastSeconds() }).value;
  return (
    <>
      <Title>{`Namespace ${id}`}</Title>
      <Trouble error={error} />
      {value ? <Shown namespace={value} /> : null}
    </>
  );
}

function Shown({ namespace: { name, ...value } }: { readonly namespace: NamespaceDetail }) {
  return (
    <>
      <p>
        <Link to="/graph" query={{ namespace: name, last: lastSeconds() }}>
          Its traffic as a picture
        </Link>
      </p>
      <p>
        <Range />
      </p>
      <Charts slots={value.series} />
      <Calls callers={value.callers} calls={value.calls} />
      <h2>What holds for all of it</h2>
      <Effects effects={value.policies} />
      <h2>Services</h2>
      <Listed
        caption="services"
        columns={serviceColumns}
        rows={value.serviceList}
        all={value.services}
        to="/services"
        q={name}
      />
      <h2>Proxies</h2>
      <Listed
        caption="proxies"
        columns={proxyColumns}
        rows={value.proxyList}
        all={value.proxies}
        to="/proxies"
        q={name}
      />
      <h2>Objects</h2>
      <Listed
        caption="objects"
        columns={objectColumns}
        rows={value.objectList}
        all={value.objects}
        to="/objects"
        q={name}
      />
    </>
  );
}

interface ListedProps<T> {
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly all: number;
  readonly to: "/services" | "/proxies" | "/objects";
  readonly q: string;
}

function Listed<T extends { readonly id: string }>({ caption, columns: shown, rows, all, to, q }: ListedProps<T>) {
  if (rows.length === 0) return <p>None.</p>;
  return (
    <>
      <Rows caption={caption} columns={shown} rows={rows} rowKey={({ id }) => id} />
      {all > rows.length ? (
        <p>
          <Link to={to} query={{ q }}>
            All {all} {caption}
          </Link>
        </p>
      ) : null}
    </>
  );
}
