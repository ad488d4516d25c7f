/** What is wrong in the mesh, worst first, each with its cause and remedy; or that all is well, with the figures that prove it. */
import type { Finding, Overview } from "../../../read-api/index.ts";
import { useAsk } from "../ask.ts";
import { ObjectLink, ProxyLink } from "../parts/link.tsx";
import { Level, Time, Trouble } from "../parts/text.tsx";
import { Title } from "../parts/title.tsx";

export function Start() {
  const { value, error } = useAsk<Overview>("overview").value;
  const errors = value?.findings.filter(({ level }) => level === "error").length ?? 0;
  return (
    <>
      <Title>What is wrong</Title>
      <Trouble error={error} />
      {value ? (
        <>
          <p class="verdict" role="status">
            {value.findings.length === 0 ? "All is well." : sayCount(errors, value.findings.length)}
          </p>
          <Figures overview={value} />
          <Findings findings={value.findings} />
        </>
      ) : null}
    </>
  );
}

function sayCount(errors: number, all: number): string {
  const things = all === 1 ? "One thing" : `${all} things`;
  return errors === 0
    ? `${things} to look at, none of them an error.`
    : `${things} to look at, ${errors} of them errors.`;
}

function Figures({ overview }: { readonly overview: Overview }) {
  return (
    <dl class="figures">
      {overview.figures.map(({ name, value, note }) => (
        <div key={name}>
          <dt title={note}>{name}</dt>
          <dd>{value.toLocaleString()}</dd>
        </div>
      ))}
      <div>
        <dt>since</dt>
        <dd>
          <Time at={overview.since} />
        </dd>
      </div>
    </dl>
  );
}

const maxShown = 200;

export function Findings({ findings }: { readonly findings: readonly Finding[] }) {
  if (findings.length === 0) return null;
  return (
    <>
      <ul class="findings">
        {findings.slice(0, maxShown).map((finding) => (
          <li key={`${finding.what} ${finding.object} ${finding.proxy} ${finding.field} ${finding.message}`}>
            <p>
              <Level level={finding.level} /> <strong>{finding.what}</strong>{" "}
              {finding.object === undefined ? null : <ObjectLink id={finding.object} field={finding.field} />}{" "}
              {finding.proxy === undefined ? null : <ProxyLink id={finding.proxy} />}
            </p>
            <p class="message">{finding.message}</p>
            <p class="remedy">{finding.remedy}</p>
          </li>
        ))}
      </ul>
      {findings.length > maxShown ? <p>{findings.length - maxShown} more are not shown.</p> : null}
    </>
  );
}
