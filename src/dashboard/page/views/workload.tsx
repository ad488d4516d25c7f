/** One workload: who calls it, whom it calls, how that went over time, what holds for it, and its proxies. */
import type { WorkloadDetail } from "../../../read-api/index.ts";
import { useAsk } from "../ask.ts";
import { Charts } from "../parts/charts.tsx";
import { Effects } from "../parts/effects.tsx";
import { NamespaceLink, ProxyLink, ServiceLink } from "../parts/link.tsx";
import { lastSeconds, Range } from "../parts/range.tsx";
import { Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";
import { query } from "../place.ts";
import { Calls } from "./edges.tsx";

export function Workload() {
  const id = query.value.get("id") ?? "";
  const { value, error } = useAsk<WorkloadDetail>("workload", { id, last: lastSeconds() }).value;
  return (
    <>
      <Title>{id}</Title>
      <p>
        <Range />
      </p>
      <Trouble error={error} />
      {value ? <Shown workload={value} /> : null}
    </>
  );
}

function Shown({
  workload: { id, series, callers, calls, policies, services, proxies },
}: {
  readonly workload: WorkloadDetail;
}) {
  return (
    <>
      <p>
        Of namespace <NamespaceLink name={id.slice(0, id.indexOf("/"))} />.
      </p>
      <Charts slots={series} />
      <Calls callers={callers} calls={calls} />
      <h2>What holds for it</h2>
      {policies.length === 0 ? (
        <p>No Pod of it is known here, so nothing can be said.</p>
      ) : (
        <Effects effects={policies} />
      )}
      <h2>Services that it serves</h2>
      {services.length === 0 ? <p>None.</p> : null}
      <ul>
        {services.map((service) => (
          <li key={service}>
            <ServiceLink id={service} />
          </li>
        ))}
      </ul>
      <h2>Its proxies</h2>
      {proxies.length === 0 ? <p>None is connected here.</p> : null}
      <ul>
        {proxies.map((proxy) => (
          <li key={proxy}>
            <ProxyLink id={proxy} />
          </li>
        ))}
      </ul>
    </>
  );
}
