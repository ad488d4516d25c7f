/** One change: by whom, its difference, who has it, and what it altered in Envoys. */
import type { ChangeDetail, TouchedResource } from "../../../read-api/index.ts";
import { useAsk } from "../ask.ts";
import { Link, ObjectLink, ProxyLink } from "../parts/link.tsx";
import { Diff, Time, Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { query } from "../place.ts";
import { Author, WhoHasIt } from "./changes.tsx";

export function ChangeView() {
  const id = query.value.get("id") ?? "";
  const { value, error } = useAsk<ChangeDetail>("change", { id }).value;
  return (
    <>
      <Title>{value ? `${value.object} ${value.act}` : `Change ${id}`}</Title>
      <p>
        <Link to="/changes">All changes</Link>
      </p>
      <Trouble error={error} />
      {value ? <Told change={value} /> : null}
    </>
  );
}

function Told({ change }: { readonly change: ChangeDetail }) {
  return (
    <>
      <p>
        <ObjectLink id={change.object} /> was {change.act} <Time at={change.at} /> by <Author change={change} />
        {change.generation === undefined ? "" : `, generation ${change.generation}`}.
      </p>
      <h2>What was written</h2>
      <Diff lines={change.diff} />
      <h2>Who has it</h2>
      <p role="status">
        <WhoHasIt change={change} />
      </p>
      {change.proxies?.refusing.slice(1).map(({ proxy, part, words }) => (
        <p class="trouble" key={`${proxy} ${part}`}>
          <ProxyLink id={proxy} /> refused {part}: <bdi>{words}</bdi>
        </p>
      ))}
      <h2>What it altered in Envoys</h2>
      <Altered change={change} />
    </>
  );
}

function Altered({ change: { touched, untold, envoy, proxies } }: { readonly change: ChangeDetail }) {
  if (!touched)
    return <p>{proxies?.isOvertaken ? "The next change came first." : "It is not made for proxies yet."}</p>;
  if (touched.length === 0) return <p>Nothing that a connected proxy is sent.</p>;
  return (
    <>
      {touched.map((resource, i) => (
        <section key={`${resource.type} ${resource.name}`}>
          <h3>
            {resource.type} <bdi>{resource.name}</bdi> {sayTouched(resource)}
          </h3>
          {envoy[i] ? <Diff lines={envoy[i]} /> : <p>Its fields were kept only for the newest changes of one start.</p>}
        </section>
      ))}
      {untold === undefined ? null : <p>{untold} more are not shown.</p>}
    </>
  );
}

const sayTouched = ({ act, proxies }: TouchedResource): string =>
  `${act} for ${proxies} ${proxies === 1 ? "proxy" : "proxies"}`;
