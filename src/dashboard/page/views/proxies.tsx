/** The connected proxies as a list. */
import type { ProxyRow } from "../../../read-api/index.ts";
import { ProxyLink } from "../parts/link.tsx";
import { type Column, FilteredTable } from "../parts/table.tsx";
import { State, Time } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";

export const proxyColumns: readonly Column<ProxyRow>[] = [
  { title: "Proxy", show: ({ id }) => <ProxyLink id={id} /> },
  { title: "Kind", show: ({ kind }) => kind },
  { title: "State", show: ({ state }) => <State state={state} /> },
  { title: "Since", show: ({ since }) => <Time at={since} /> },
  { title: "Connected", show: ({ connectedAt }) => <Time at={connectedAt} /> },
  { title: "Version", show: ({ version }) => <bdi>{version}</bdi> },
];

export function Proxies() {
  return (
    <>
      <Title>Proxies</Title>
      <FilteredTable<ProxyRow>
        list="proxies"
        columns={proxyColumns}
        rowKey={({ id, connectedAt }) => `${id} ${connectedAt}`}
        what="proxies"
        empty="No proxy is connected. `fairlead run` starts a process with one."
      />
    </>
  );
}
