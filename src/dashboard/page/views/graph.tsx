/** Who talks with whom: namespaces first, then the workloads of one, as a picture and as a table. */
import { elsewhere, type Graph, type GraphEdge, type GraphNode } from "../../../read-api/index.ts";
import { useAsk } from "../ask.ts";
import { arrowKey } from "../graph/layers.ts";
import { Lock } from "../graph/lock.tsx";
import { boxHeight, labelWidth, pictureOf } from "../graph/picture.ts";
import { lockWords, rate, share } from "../parts/figures.ts";
import { Link, NamespaceLink } from "../parts/link.tsx";
import { lettersOf, MarkLegend } from "../parts/marks.tsx";
import { lastSeconds, Range } from "../parts/range.tsx";
import { Scrolled, Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { change, query } from "../place.ts";
import { Edges, Places } from "./edges.tsx";

export function TrafficGraph() {
  const namespace = query.value.get("namespace") ?? "";
  const hide = query.value.get("hide") ?? "";
  const find = query.value.get("find") ?? "";
  const { value, error } = useAsk<Graph>("graph", { namespace, last: lastSeconds() }).value;
  const shown = value && hidden(value, hide);
  return (
    <>
      <Title>{namespace === "" ? "Traffic between namespaces" : `Traffic of ${namespace}`}</Title>
      {namespace === "" ? null : (
        <p>
          <Link to="/graph">All namespaces</Link>, the page of <NamespaceLink name={namespace} />
        </p>
      )}
      <p class="filter">
        <Range /> <Box name="find" words="Find" value={find} /> <Box name="hide" words="Hide" value={hide} />
      </p>
      <Trouble error={error} />
      {shown ? <Drawn graph={shown} find={find} isOfNamespace={namespace !== ""} /> : null}
    </>
  );
}

const Box = ({ name, words, value }: { readonly name: string; readonly words: string; readonly value: string }) => (
  <label>
    {words} <input type="search" value={value} onInput={(event) => change({ [name]: event.currentTarget.value })} />
  </label>
);

function hidden(graph: Graph, hide: string): Graph {
  if (hide === "") return graph;
  const isHidden = (id: string): boolean => id.includes(hide);
  return {
    ...graph,
    nodes: graph.nodes.filter(({ id }) => !isHidden(id)),
    edges: graph.edges.filter(({ from, to }) => !isHidden(from) && !isHidden(to)),
  };
}

function Drawn({
  graph,
  find,
  isOfNamespace,
}: {
  readonly graph: Graph;
  readonly find: string;
  readonly isOfNamespace: boolean;
}) {
  if (graph.reporters === 0)
    return <p>No agent reports what it counts. Those of `fairlead run` and of injected Pods do, every 10 s.</p>;
  if (graph.edges.length === 0) return <p>No request was counted in this time. Send some, or look further back.</p>;
  return (
    <>
      {graph.folded.nodes + graph.folded.edges === 0 ? null : (
        <p role="status">
          {graph.folded.nodes} places and {graph.folded.edges} ways with the least traffic are not drawn.
          {isOfNamespace ? "" : " Choose a namespace to see its own."}
        </p>
      )}
      {graph.silent === 0 ? null : (
        <p class="trouble">
          {graph.silent} replicas of the control plane did not answer: what their proxies carry is missing.
        </p>
      )}
      <Picture graph={graph} find={find} />
      <p class="legend">
        {(["all", "mixed", "none"] as const).map((state) => (
          <span key={state} class="lock-key">
            <span class={`key ${state}`} />{" "}
            <svg width="18" height="16" aria-hidden="true">
              <Lock state={state} x={5} y={3} />
            </svg>
            {lockWords[state]}{" "}
          </span>
        ))}
        Red: at least 5 % of the answers are errors.
      </p>
      <MarkLegend />
      <h2>The same as a table</h2>
      <Edges caption="traffic" edges={graph.edges} />
      <h2>The places as a table</h2>
      <Places nodes={graph.nodes} />
    </>
  );
}

/** Without a name: who calls without a proxy, and what in a namespace no workload was found to serve. */
const wordsOf = ({ id, name, namespace }: GraphNode): string =>
  id === "" ? "no proxy" : id === elsewhere ? "not for you to see" : name === "" ? `nobody of ${namespace}` : name;
const isBad = (errors: number | undefined): boolean => (errors ?? 0) >= 0.05;

function Picture({ graph, find }: { readonly graph: Graph; readonly find: string }) {
  const { boxes, ways, width, height } = pictureOf(
    graph.nodes.map((node) => ({ id: node.id, words: `${wordsOf(node)} ${lettersOf(node.marks)}` })),
    graph.edges.map((edge) => ({ from: edge.from, to: edge.to, words: sayEdge(edge) })),
  );
  const edges = new Map(graph.edges.map((edge) => [arrowKey(edge), edge]));
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  return (
    <Scrolled label="Picture of the traffic">
      <svg class="graph" width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <title>Who talks with whom; the same is in the table below</title>
        <defs>
          <marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">
            <path d="M0,0 L8,4 L0,8 z" />
          </marker>
        </defs>
        {ways.map(({ key, path }) => (
          <path key={key} d={path} marker-end="url(#head)" class={wayClass(edges.get(key))} />
        ))}
        {ways.map(({ key, label, words }) => (
          <g key={key}>
            <Lock state={edges.get(key)?.mutualTls ?? "unknown"} x={label.x - labelWidth(words) / 2} y={label.y - 15} />
            <text x={label.x + 6} y={label.y - 4} class={isBad(edges.get(key)?.errors) ? "bad" : ""}>
              {words}
            </text>
          </g>
        ))}
        {boxes.map((box) => {
          const node = nodes.get(box.id);
          return node ? (
            <Place key={box.id} node={node} box={box} isFound={find !== "" && box.id.includes(find)} />
          ) : null;
        })}
      </svg>
    </Scrolled>
  );
}

const wayClass = (edge: GraphEdge | undefined): string =>
  `way ${edge?.mutualTls ?? ""} ${isBad(edge?.errors) ? "bad" : ""}`;

const sayEdge = ({ perSecond, errors, marks }: GraphEdge): string =>
  [rate(perSecond), errors ? share(errors) : "", lettersOf(marks)].filter(Boolean).join(" ");

interface PlaceProps {
  readonly node: GraphNode;
  readonly box: { readonly x: number; readonly y: number; readonly width: number };
  readonly isFound: boolean;
}

function Place({ node, box, isFound }: PlaceProps) {
  const words = wordsOf(node);
  const marks = lettersOf(node.marks);
  const shape = (
    <>
      <rect
        x={box.x}
        y={box.y}
        width={box.width}
        height={boxHeight}
        rx="6"
        class={`${isFound ? "found" : ""} ${isBad(node.errors) ? "bad" : ""}`}
      />
      <text x={box.x + box.width / 2} y={box.y + boxHeight / 2 + 5}>
        {words.length > 24 ? `${words.slice(0, 23)}…` : words}
        {marks === "" ? null : <tspan class="marks">{` ${marks}`}</tspan>}
      </text>
    </>
  );
  if (node.name === "" || node.id === elsewhere) return shape;
  const isWorkload = node.id.includes("/");
  return (
    <Link
      to={isWorkload ? "/workload" : "/graph"}
      query={isWorkload ? { id: node.id } : { namespace: node.id }}
      label={`${node.id}${marks === "" ? "" : ` ${marks}`}, ${rate(node.perSecond)}${isBad(node.errors) ? `, ${share(node.errors)} errors` : ""}`}
    >
      {shape}
    </Link>
  );
}
