/** Services of the mesh as a list, and one of them: who calls and who serves it, its versions and routes, and what holds for it. */
import type { EndpointRow, RouteTo, ServiceDetail, ServiceRow, Version } from "../../../read-api/index.ts";
import { useAsk } from "../ask.ts";
import { Charts } from "../parts/charts.tsx";
import { Effects } from "../parts/effects.tsx";
import { Link, NamespaceLink, ObjectLink, ServiceLink } from "../parts/link.tsx";
import { lastSeconds, Range } from "../parts/range.tsx";
import { type Column, FilteredTable, Rows } from "../parts/table.tsx";
import { State, Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { query } from "../place.ts";
import { Edges } from "./edges.tsx";

export const serviceColumns: readonly Column<ServiceRow>[] = [
  {
    title: "Host",
    show: ({ id }) => <ServiceLink id={id} />,
  },
  { title: "Namespace", show: ({ namespace }) => <NamespaceLink name={namespace} /> },
  { title: "Ports", show: ({ ports }) => ports.join(", ") },
  { title: "Endpoints", show: ({ endpoints, healthy }) => `${healthy} of ${endpoints} healthy` },
];

export function Services() {
  return (
    <>
      <Title>Services</Title>
      <FilteredTable<ServiceRow>
        list="services"
        columns={serviceColumns}
        rowKey={({ id }) => id}
        what="services"
        empty="There is no Service yet. Apply one, or start the demo with `npm start`."
      />
    </>
  );
}

const endpointColumns: readonly Column<EndpointRow>[] = [
  { title: "Address", show: ({ address }) => <bdi>{address}</bdi> },
  { title: "Port", show: ({ port }) => port },
  { title: "Health", show: ({ health }) => <State state={health} /> },
  {
    title: "Workload",
    show: ({ workload }) =>
      workload === "" ? null : (
        <Link to="/workload" query={{ id: workload }}>
          <bdi>{workload}</bdi>
        </Link>
      ),
  },
  { title: "Identity", show: ({ identity }) => <bdi>{identity}</bdi> },
  { title: "Locality", show: ({ locality }) => locality },
];

const versionColumns: readonly Column<Version>[] = [
  { title: "Version", show: ({ name }) => <bdi>{name}</bdi> },
  { title: "Endpoints", show: ({ endpoints, healthy }) => `${healthy} of ${endpoints} healthy` },
  { title: "Declared by", show: ({ object, field }) => (object ? <ObjectLink id={object} field={field} /> : "labels") },
];

const routeColumns: readonly Column<RouteTo>[] = [
  { title: "Requests", show: ({ requests }) => <bdi>{requests}</bdi> },
  {
    title: "Go to",
    show: ({ to }) => (
      <ul class="causes">
        {to.map(({ name, weight }, i) => (
          <li key={i}>
            {weight} % <bdi>{name}</bdi>
          </li>
        ))}
      </ul>
    ),
  },
  { title: "And", show: ({ marks }) => <bdi>{marks.join(", ")}</bdi> },
  { title: "Said by", show: ({ object, field }) => <ObjectLink id={object} field={field} /> },
];

export function Service() {
  const id = query.value.get("id") ?? "";
  const { value, error } = useAsk<ServiceDetail>("service", { id, last: lastSeconds() }).value;
  return (
    <>
      <Title>{value?.host ?? id}</Title>
      <Trouble error={error} />
      {value ? <Shown service={value} /> : null}
    </>
  );
}

function Shown({ service: value }: { readonly service: ServiceDetail }) {
  return (
    <>
      <p>
        Made from <ObjectLink id={value.object} /> of namespace <NamespaceLink name={value.namespace} />. Addresses:{" "}
        {value.addresses.join(", ") || "none"}. Ports: {value.ports.join(", ")}.
      </p>
      <p>
        <Range />
      </p>
      <Charts slots={value.series} />
      <h2>Who calls it</h2>
      {value.callers.length === 0 ? <p>Nobody did in this time.</p> : <Edges caption="callers" edges={value.callers} />}
      <h2>Versions</h2>
      {value.versions.length === 0 ? (
        <p>None.</p>
      ) : (
        <Rows caption="versions" columns={versionColumns} rows={value.versions} rowKey={({ name }) => name} />
      )}
      <h2>Routes that lead to it</h2>
      {value.routes.length === 0 ? (
        <p>No route names it: requests go to all endpoints alike.</p>
      ) : (
        <Rows
          caption="routes"
          columns={routeColumns}
          rows={value.routes}
          rowKey={({ object, field }) => `${object} ${field}`}
        />
      )}
      <h2>What holds for it</h2>
      {value.policies.length === 0 ? <p>Nothing was said.</p> : <Effects effects={value.policies} />}
      <h2>Who serves it</h2>
      {value.endpointList.length === 0 ? (
        <p>Nobody: requests to it get 503. Start what its selector selects.</p>
      ) : (
        <Rows
          caption="endpoints"
          columns={endpointColumns}
          rows={value.endpointList}
          rowKey={({ address, port }) => `${address} ${port}`}
        />
      )}
      <h2>What is said about it</h2>
      {value.objects.length === 0 ? (
        <p>No VirtualService and no DestinationRule names this host.</p>
      ) : (
        <ul>
          {value.objects.map(({ object, effect }) => (
            <li key={object}>
              <ObjectLink id={object} /> {effect}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
