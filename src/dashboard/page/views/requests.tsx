/** Single requests as they are made, for up to a minute, of those that are asked for. What is asked for is in the address. */
import type { LiveRequest, Party } from "../../../read-api/index.ts";
import { lockWords, millis } from "../parts/figures.ts";
import { Link } from "../parts/link.tsx";
import { type Column, Rows } from "../parts/table.tsx";
import { Time, Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { change, type Query, query } from "../place.ts";
import { type SeenRequest, type TapCounts, type TapState, useTap } from "../tap.ts";

/** As the control plane calls them, and as people do. */
const fields = [
  ["workload", "Workload"],
  ["namespace", "Namespace"],
  ["peer", "Workload at the other end"],
  ["service", "Called service"],
  ["method", "Method"],
  ["authority", "Host"],
  ["path", "Path begins with"],
  ["status", "Status, such as 404 or 5xx"],
] as const;

const headers = ["user-agent", "x-request-id"] as const;
const longestSeconds = 60;

const asked = (name: string): string => query.value.get(name) ?? "";
const askedHeaders = (): readonly string[] => headers.filter((name) => asked("headers").split(",").includes(name));

function askedSeconds(): number {
  const seconds = Number(asked("for"));
  return seconds >= 1 && seconds <= longestSeconds ? Math.round(seconds) : longestSeconds;
}

function question(): URLSearchParams {
  const set = [...fields.map(([name]) => name), "side"].map((name) => [name, asked(name)] as const);
  const given = [...set, ["headers", askedHeaders().join(",")] as const].filter(([, value]) => value !== "");
  return new URLSearchParams(given.map(([name, value]) => [name, value]));
}

export function Requests() {
  const tap = useTap();
  const state = tap.state.value;
  const isOn = state === "running" || state === "paused";
  const shown = tap.rows.value;
  return (
    <>
      <Title>Live requests</Title>
      <p>
        What agents note of single requests, for a minute at most: no bodies, nothing after the “?” of a path. At most
        50 a second are shown.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isOn) tap.stop();
          else tap.start(question(), askedSeconds());
        }}
      >
        <Filters disabled={isOn} />
        <p>
          <button type="submit">{isOn ? "Stop" : "Look"}</button>
        </p>
      </form>
      <p role="status">{words[state]}</p>
      <Trouble error={state === "failed" ? tap.error.value : undefined} />
      {state === "idle" ? null : <p>{sayCounts(tap.counts.value, isOn)}</p>}
      {shown.length === 0 ? null : (
        <Rows
          caption="live requests"
          columns={shown.some((request) => Object.keys(request.headers).length > 0) ? withHeaders : columns}
          rows={shown}
          rowKey={({ id }) => id}
        />
      )}
    </>
  );
}

const words: Readonly<Record<TapState, string>> = {
  idle: "",
  running: "Agents are asked.",
  paused: "Paused while this tab is hidden.",
  stopped: "Stopped. Agents note nothing more.",
  ended: "It has ended by itself: the time is over. Agents note nothing more.",
  failed: "",
};

function sayCounts({ seen, leftOut, proxies, secondsLeft }: TapCounts, isOn: boolean): string {
  const more = leftOut > 0 ? `; ${leftOut.toLocaleString()} more were not shown` : "";
  const left = isOn ? `; ${secondsLeft} s left` : "";
  if (seen === 0 && proxies === 0)
    return `No proxy that reports to this control plane is meant${left}. Those of \`fairlead run\` and of injected Pods report.`;
  return `${seen.toLocaleString()} requests of ${proxies} proxies${more}${left}.`;
}

function Filters({ disabled }: { readonly disabled: boolean }) {
  return (
    <fieldset class="filters" disabled={disabled}>
      <legend>Which ones</legend>
      {fields.map(([name, label]) => (
        <label key={name}>
          {label}
          <input
            value={asked(name)}
            maxLength={1000}
            onInput={(event) => change({ [name]: event.currentTarget.value })}
          />
        </label>
      ))}
      <label>
        Seen by
        <select value={asked("side")} onChange={(event) => change({ side: event.currentTarget.value })}>
          <option value="">both ends</option>
          <option value="source">the caller's proxy</option>
          <option value="destination">the server's proxy</option>
        </select>
      </label>
      <label>
        Seconds
        <input
          type="number"
          min="1"
          max={longestSeconds}
          value={askedSeconds()}
          onChange={(event) => change({ for: event.currentTarget.value })}
        />
      </label>
      {headers.map((name) => (
        <label key={name} class="tick">
          <input
            type="checkbox"
            checked={askedHeaders().includes(name)}
            onChange={(event) => change({ headers: toggled(name, event.currentTarget.checked) })}
          />
          with header {name}
        </label>
      ))}
    </fieldset>
  );
}

const toggled = (name: string, isOn: boolean): string =>
  headers.filter((one) => (one === name ? isOn : askedHeaders().includes(one))).join(",");

/** A workload, or the address of who is not known. */
function PartyLink({ party, address }: { readonly party: Party; readonly address: string }) {
  if (party.workload === "") return <bdi>{address || "unknown"}</bdi>;
  const id = `${party.namespace}/${party.workload}`;
  return (
    <Link to="/workload" query={{ id }}>
      <bdi>{id}</bdi>
    </Link>
  );
}

const answerOf = ({ protocol, status, grpcStatus }: LiveRequest): string => {
  if (protocol === "tcp") return "";
  const code = status === 0 ? "none" : String(status);
  return grpcStatus === "" ? code : `${code}, gRPC ${grpcStatus}`;
};

const isBad = ({ protocol, status }: LiveRequest): boolean => protocol !== "tcp" && (status === 0 || status >= 500);

const columns: readonly Column<SeenRequest>[] = [
  { title: "Began", show: ({ at }) => <Time at={at} isExact /> },
  { title: "Seen by", show: ({ side }) => (side === "source" ? "caller" : "server") },
  {
    title: "From",
    show: ({ source, side, peerAddress }) => (
      <PartyLink party={source} address={side === "destination" ? peerAddress : ""} />
    ),
  },
  {
    title: "To",
    show: ({ destination, side, peerAddress }) => (
      <PartyLink party={destination} address={side === "source" ? peerAddress : ""} />
    ),
  },
  {
    title: "Request",
    show: ({ protocol, method, authority, path, service }) => (
      <bdi>{protocol === "tcp" ? `connection to ${service.host}` : `${method} ${authority}${path}`}</bdi>
    ),
  },
  {
    title: "Answer",
    show: (request) => <span class={isBad(request) ? "error" : ""}>{answerOf(request)}</span>,
  },
  { title: "Flags", show: ({ flags }) => <bdi>{flags}</bdi> },
  {
    title: "Took",
    show: ({ protocol, durationMs, sentBytes, receivedBytes }) =>
      protocol === "tcp" ? `${sentBytes} B sent, ${receivedBytes} B received` : millis(durationMs),
  },
  {
    title: "Explained",
    show: (request) => (
      <Link to="/why" query={whyOf(request)} label={`why ${request.method} ${request.authority}${request.path}`}>
        why
      </Link>
    ),
  },
  // A caller's proxy cannot tell where nobody answered.
  {
    title: "Encryption",
    show: ({ mutualTls, side }) => (mutualTls ? lockWords.all : side === "destination" ? lockWords.none : ""),
  },
];

/** As `why` is asked; a caller without a proxy is outside. */
function whyOf({ source, side, service, protocol, method, authority, path, peerAddress }: LiveRequest): Query {
  const caller = source.workload === "" ? "outside" : `${source.workload}.${source.namespace}`;
  return {
    source: caller,
    ...(caller === "outside" && side === "destination" ? { from: peerAddress } : {}),
    destination: protocol === "tcp" ? `tcp://${service.host}` : `${seenHost(authority, service.host)}${path}`,
    method: protocol === "tcp" ? undefined : method,
  };
}

/** A client of a gateway names a host of its own, with a port that may lead to another one of the gateway. */
function seenHost(authority: string, called: string): string {
  const host = authority.replace(/:\d+$/, "");
  return !called.includes(".") || called === host || called.startsWith(`${host}.`) ? authority : host;
}

const withHeaders: readonly Column<SeenRequest>[] = [
  ...columns,
  {
    title: "Headers",
    show: (request) =>
      Object.entries(request.headers).map(([name, value]) => (
        <div key={name}>
          <bdi>{`${name}: ${value}`}</bdi>
        </div>
      )),
  },
];
