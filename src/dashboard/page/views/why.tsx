/** What becomes of one request: the form that asks it, and the answer step by step with the objects that decided. */
import { signal } from "@preact/signals";
import type { Decider, Mistake, WhyAnswer, WhyHop, WhyQuestion, WhyStep } from "../../../read-api/index.ts";
import { useTell } from "../ask.ts";
import { share } from "../parts/figures.ts";
import { Link, ObjectLink, ProxyLink } from "../parts/link.tsx";
import { type Column, Rows } from "../parts/table.tsx";
import { Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { go, href, query } from "../place.ts";

/** All but the token are in the address. */
const usual = [
  ["source", "Who calls", "a Pod, a Service, an app, a gateway, or outside"],
  ["destination", "Whom", "[http|https|grpc|tcp|tls://]host[:port][/path]"],
  ["method", "Method", "GET"],
] as const;
const rare = [
  ["namespace", "Namespace of who calls", "default"],
  ["from", "Address of a caller from outside", ""],
  ["sni", "Server name of TLS", "where it is not the host"],
] as const;
const fields = [...usual, ...rare];

/** Never in an address, which is kept and shown in many places. */
const token = signal("");
const secretHeaders: ReadonlySet<string> = new Set(["authorization", "cookie", "proxy-authorization"]);
const heldHeaders = signal<readonly string[]>([]);

const asked = (name: string): string => query.value.get(name) ?? "";
const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line.trim() !== "");
const nameOf = (line: string): string => line.slice(0, line.indexOf(":")).trim().toLowerCase();

function pairOf(line: string): readonly [string, string] {
  const at = line.indexOf(":");
  return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

/** Undefined while it is not said who calls whom. */
function question(): WhyQuestion | undefined {
  const log = asked("log");
  const headers = [...linesOf(asked("headers")), ...heldHeaders.value].map(pairOf);
  const given = fields.map(([name]) => [name, asked(name)] as const).filter(([, value]) => value !== "");
  if (log === "" && (asked("source") === "" || asked("destination") === "")) return undefined;
  return {
    ...(log === "" ? Object.fromEntries(given) : { log }),
    ...(headers.length === 0 ? {} : { headers }),
    ...(token.value === "" ? {} : { token: token.value }),
  };
}

function submit(form: HTMLFormElement): void {
  const data = new FormData(form);
  const text = (name: string): string => String(data.get(name) ?? "").trim();
  const headers = linesOf(text("headers"));
  token.value = text("token");
  heldHeaders.value = headers.filter((line) => secretHeaders.has(nameOf(line)));
  const open = headers.filter((line) => !secretHeaders.has(nameOf(line)));
  const params = [...fields.map(([name]) => [name, text(name)] as const), ["log", text("log")] as const];
  go(href("/why", { ...Object.fromEntries(params), headers: open.join("\n") }));
}

export function Why() {
  const what = question();
  const { value, error } = useTell<WhyAnswer | Mistake>("why", what && JSON.stringify(what)).value;
  return (
    <>
      <Title>Why</Title>
      <p>
        What would become of a request, by what the proxies have been sent, and which object and field decides it.
        Nothing is sent.
      </p>
      <Form key={query.value.toString()} />
      <Trouble error={error} />
      {value && "error" in value ? (
        <p class="trouble" role="alert">
          {value.error}
          {value.remedy === undefined ? "" : `: ${value.remedy}`}
        </p>
      ) : null}
      {value && !("error" in value) ? <Answered answer={value} /> : null}
    </>
  );
}

function Form() {
  const hasMore = [...rare.map(([name]) => name), "headers", "log"].some((name) => asked(name) !== "");
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
    >
      <fieldset class="filters">
        <legend>The request</legend>
        <Fields of={usual} />
      </fieldset>
      <details open={hasMore || token.value !== "" || heldHeaders.value.length > 0}>
        <summary>More of the request</summary>
        <fieldset class="filters">
          <legend>More of the request</legend>
          <Fields of={rare} />
          <label>
            Headers, one on a line
            <textarea
              name="headers"
              rows={2}
              defaultValue={[asked("headers"), ...heldHeaders.value].filter(Boolean).join("\n")}
            />
          </label>
          <label>
            Token, which is not kept
            <input name="token" type="password" autoComplete="off" defaultValue={token.value} />
          </label>
          <label>
            Or a line of an access log
            <textarea name="log" rows={2} defaultValue={asked("log")} />
          </label>
        </fieldset>
      </details>
      <p>
        <button type="submit">Ask</button>
      </p>
    </form>
  );
}

const Fields = ({ of }: { readonly of: typeof usual | typeof rare }) => (
  <>
    {of.map(([name, label, hint]) => (
      <label key={name}>
        {label}
        <input name={name} defaultValue={asked(name)} placeholder={hint} />
      </label>
    ))}
  </>
);

function Answered({ answer }: { readonly answer: WhyAnswer }) {
  const { verdict, request, logged, odds, unfollowed, steps, hops, assumptions } = answer;
  const isGood = verdict.kind === "reached" || (verdict.kind === "answered" && (verdict.status ?? 0) < 400);
  return (
    <>
      <p class={`verdict ${isGood ? "in-step" : "error"}`} role="status">
        {verdict.text}
      </p>
      <p>
        <bdi>{request}</bdi>
        {logged === undefined ? null : <bdi>{`. The log says ${logged}`}</bdi>}
      </p>
      <Deciders deciders={verdict.deciders} />
      {odds.length > 1 || unfollowed > 0 ? (
        <>
          <h2>What else may become of it</h2>
          <ul>
            {odds.map((one) => (
              <li key={one.text}>
                {share(one.odds)} <bdi>{one.text}</bdi>
              </li>
            ))}
            {unfollowed > 0 ? <li>{share(unfollowed)} not followed</li> : null}
          </ul>
        </>
      ) : null}
      <h2>Step by step</h2>
      <ol class="steps">
        {steps.map((step, i) => (
          <Step key={i} step={step} isNew={steps[i - 1]?.proxy !== step.proxy} />
        ))}
      </ol>
      {assumptions.length === 0 ? null : (
        <>
          <h2>Taken for granted</h2>
          <ul>
            {assumptions.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </>
      )}
      <h2>As access logs would have it</h2>
      <Rows caption="hops" columns={hopColumns} rows={hops} rowKey={({ proxy, listener }) => `${proxy} ${listener}`} />
    </>
  );
}

/** Such as `LDS`, by which a proxy's page calls it. */
const shortTypes: Readonly<Record<string, string>> = {
  Listener: "LDS",
  RouteConfiguration: "RDS",
  Cluster: "CDS",
  ClusterLoadAssignment: "EDS",
  TypedExtensionConfig: "ECDS",
};

function Step({ step, isNew }: { readonly step: WhyStep; readonly isNew: boolean }) {
  const { proxy, stage, decision, odds, lost, resource, deciders } = step;
  const type = resource && shortTypes[resource.type.slice(resource.type.lastIndexOf(".") + 1)];
  return (
    <li>
      {isNew ? (
        <h3>
          <ProxyLink id={proxy} />
        </h3>
      ) : null}
      <p>
        <strong>{stage}</strong> <bdi>{decision}</bdi>
        {odds === undefined ? "" : ` (${share(odds)})`}
      </p>
      {resource && type ? (
        <p>
          in{" "}
          <Link to="/proxy" query={{ id: proxy, type, name: resource.name }}>
            {type} <bdi>{resource.name}</bdi>
          </Link>
        </p>
      ) : null}
      <Deciders deciders={deciders} />
      {lost.length === 0 ? null : (
        <details>
          <summary>{lost.length === 1 ? "one other was not taken" : `${lost.length} others were not taken`}</summary>
          <ul>
            {lost.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </details>
      )}
    </li>
  );
}

function Deciders({ deciders }: { readonly deciders: readonly Decider[] }) {
  if (deciders.length === 0) return null;
  return (
    <ul class="causes">
      {deciders.map(({ object, field }) => (
        <li key={`${object} ${field}`}>
          from <ObjectLink id={object} field={field} />
        </li>
      ))}
    </ul>
  );
}

const hopColumns: readonly Column<WhyHop>[] = [
  { title: "Proxy", show: ({ proxy }) => <ProxyLink id={proxy} /> },
  { title: "Listener", show: ({ listener }) => <bdi>{listener}</bdi> },
  { title: "Route", show: ({ route }) => <bdi>{route}</bdi> },
  { title: "Cluster", show: ({ cluster }) => <bdi>{cluster}</bdi> },
  { title: "Endpoint", show: ({ endpoint }) => <bdi>{endpoint}</bdi> },
  { title: "Status", show: ({ status }) => (status === 0 ? "" : status) },
  { title: "Flags", show: ({ flags }) => flags.join(", ") },
  { title: "Details", show: ({ details }) => <bdi>{details}</bdi> },
];
