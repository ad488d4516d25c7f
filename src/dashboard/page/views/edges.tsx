/** Edges of traffic as a table: the twin of every picture of them. */
import { elsewhere, type GraphEdge, type GraphNode } from "../../../read-api/index.ts";
import { lockWords, millis, rate, share } from "../parts/figures.ts";
import { Link, NamespaceLink } from "../parts/link.tsx";
import { MarkList } from "../parts/marks.tsx";
import { type Column, Rows } from "../parts/table.tsx";

const place = (id: string) =>
  id === "" ? (
    "callers without a proxy"
  ) : id === elsewhere ? (
    "namespaces that you may not see"
  ) : id.includes("/") ? (
    <Link to="/workload" query={{ id }}>
      <bdi>{id}</bdi>
    </Link>
  ) : (
    <NamespaceLink name={id} />
  );

const columns: readonly Column<GraphEdge>[] = [
  { title: "From", show: ({ from }) => place(from) },
  {
    title: "To",
    show: ({ to, hosts }) =>
      to === "" || to.endsWith("/") ? <bdi>{`nobody for ${hosts.join(", ")}`}</bdi> : place(to),
  },
  { title: "Rate", show: ({ perSecond }) => rate(perSecond) },
  { title: "Requests", show: ({ requests }) => requests.toLocaleString() },
  { title: "Errors", show: ({ errors }) => share(errors) },
  { title: "Denied", show: ({ denied }) => denied },
  { title: "p50", show: ({ p50Ms }) => millis(p50Ms) },
  { title: "p99", show: ({ p99Ms }) => millis(p99Ms) },
  { title: "Protocol", show: ({ protocols }) => protocols.join(", ") },
  { title: "Encryption", show: ({ mutualTls }) => lockWords[mutualTls] },
  { title: "Marks", show: ({ marks }) => <MarkList marks={marks} /> },
];

export const Edges = ({ caption, edges }: { readonly caption: string; readonly edges: readonly GraphEdge[] }) => (
  <Rows caption={caption} columns={columns} rows={edges} rowKey={({ from, to, hosts }) => `${from} ${to} ${hosts}`} />
);

const nodeColumns: readonly Column<GraphNode>[] = [
  { title: "Place", show: ({ id }) => place(id) },
  { title: "Comes to it", show: ({ perSecond }) => rate(perSecond) },
  { title: "Errors", show: ({ errors }) => share(errors) },
  { title: "Marks", show: ({ marks }) => <MarkList marks={marks} /> },
];

export const Places = ({ nodes }: { readonly nodes: readonly GraphNode[] }) => (
  <Rows caption="places" columns={nodeColumns} rows={nodes} rowKey={({ id }) => id} />
);

/** Both sides of a place. */
export const Calls = (props: { readonly callers: readonly GraphEdge[]; readonly calls: readonly GraphEdge[] }) => (
  <>
    <h2>Who calls it</h2>
    {props.callers.length === 0 ? <p>Nobody did in this time.</p> : <Edges caption="callers" edges={props.callers} />}
    <h2>Whom it calls</h2>
    {props.calls.length === 0 ? <p>Nobody in this time.</p> : <Edges caption="calls" edges={props.calls} />}
  </>
);
