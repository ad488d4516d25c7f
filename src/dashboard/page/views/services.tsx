/** Services of the mesh as a list, and one of them: who serves it, and which objects say something about it. */
import type { EndpointRow, ServiceDetail, ServiceRow } from "../../mesh-reads.ts";
import { useAsk } from "../ask.ts";
import { Link, ObjectLink } from "../parts/link.tsx";
import { type Column, FilteredTable, Rows } from "../parts/table.tsx";
import { State, Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { query } from "../place.ts";

const columns: readonly Column<ServiceRow>[] = [
  {
    title: "Host",
    show: ({ id, host }) => (
      <Link to="/service" query={{ id }}>
        <bdi>{host}</bdi>
      </Link>
    ),
  },
  { title: "Namespace", show: ({ namespace }) => namespace },
  { title: "Ports", show: ({ ports }) => ports.join(", ") },
  { title: "Endpoints", show: ({ endpoints, healthy }) => `${healthy} of ${endpoints} healthy` },
];

export function Services() {
  return (
    <>
      <Title>Services</Title>
      <FilteredTable<ServiceRow>
        list="services"
        columns={columns}
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
  { title: "Workload", show: ({ workload }) => <bdi>{workload}</bdi> },
  { title: "Identity", show: ({ identity }) => <bdi>{identity}</bdi> },
  { title: "Locality", show: ({ locality }) => locality },
];

export function Service() {
  const id = query.value.get("id") ?? "";
  const { value, error } = useAsk<ServiceDetail>("service", { id }).value;
  return (
    <>
      <Title>{value?.host ?? id}</Title>
      <Trouble error={error} />
      {value ? (
        <>
          <p>
            Made from <ObjectLink id={value.object} />. Addresses: {value.addresses.join(", ") || "none"}. Ports:{" "}
            {value.ports.join(", ")}.
          </p>
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
      ) : null}
    </>
  );
}
