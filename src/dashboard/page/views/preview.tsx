/** What a change that is only thought of would do: whether it would be taken, whom it reaches, and how. */
import type {
  DiffAnalysis,
  DiffAnswer,
  DiffResource,
  DiffSentence,
  DiffTold,
  Mistake,
} from "../../../read-api/index.ts";
import { ObjectLink } from "../parts/link.tsx";
import { Diff, Level } from "../parts/text.tsx";

export function Preview({ answer }: { readonly answer: DiffAnswer | Mistake | undefined }) {
  if (!answer) return <p role="status">It is being worked out …</p>;
  if ("error" in answer)
    return (
      <p class="trouble" role="alert">
        {answer.error}
        {answer.remedy === undefined ? "" : `: ${answer.remedy}`}
      </p>
    );
  const reached = answer.classes.reduce((sum, { count }) => sum + count, 0);
  return (
    <>
      <p role="status">{sayReach(answer, reached)}</p>
      <Told level="error" what="would be refused" list={answer.refused} />
      <Told level="warning" what="" list={answer.warnings} />
      <Analysis analysis={answer.analysis} />
      <Told level="info" what="would change nothing" list={answer.ignored} />
      <Sentences sentences={answer.sentences} />
      <Resources resources={answer.resources} />
      {answer.notes.length === 0 ? null : (
        <details>
          <summary>What is taken for granted</summary>
          <ul>
            {answer.notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function sayReach({ refused, proxies }: DiffAnswer, reached: number): string {
  if (refused.length > 0) return "It would be refused.";
  if (reached === 0) return `Nothing changes for ${proxies} ${proxies === 1 ? "proxy" : "proxies"}.`;
  return `Something changes for ${reached} of ${proxies} proxies.`;
}

interface ToldWords {
  readonly level: "error" | "warning" | "info";
  readonly what: string;
}

interface ToldProps extends ToldWords {
  readonly list: readonly DiffTold[];
}

function Told({ level, what, list }: ToldProps) {
  if (list.length === 0) return null;
  return (
    <ul class="findings">
      {list.map((one) => (
        <ToldLine key={`${one.object} ${one.field} ${one.message}`} level={level} what={what} one={one} />
      ))}
    </ul>
  );
}

function ToldLine({ level, what, one }: ToldWords & { readonly one: DiffTold }) {
  return (
    <li>
      <p>
        <Level level={level} /> {what} <ObjectLink id={one.object} field={one.field} />
      </p>
      <p class="message">
        <bdi>{one.message}</bdi>
      </p>
    </li>
  );
}

function Analysis({ analysis }: { readonly analysis: DiffAnalysis | undefined }) {
  if (!analysis || analysis.count === 0) return null;
  const { count, messages } = analysis;
  return (
    <>
      <ul class="findings">
        {messages.map((one) => (
          <ToldLine key={`${one.code} ${one.object} ${one.message}`} level={one.level} what={one.code} one={one} />
        ))}
      </ul>
      {count > messages.length ? <p>{count - messages.length} more are not shown.</p> : null}
    </>
  );
}

/** Where it may hurt, that is said. */
const risks: Readonly<Record<string, string>> = {
  deny: "requests may be refused",
  "lost-endpoint": "servers are lost",
  mtls: "encryption changes",
};

function Sentences({ sentences }: { readonly sentences: readonly DiffSentence[] }) {
  if (sentences.length === 0) return null;
  return (
    <ul>
      {sentences.map(({ subject, host, text, risk, count }) => (
        <li key={`${host} ${text}`}>
          {risk === undefined ? null : (
            <>
              <Level level="warning" /> {risks[risk]}:{" "}
            </>
          )}
          <bdi>{subject === "" ? text : `${subject}: ${text}`}</bdi>{" "}
          {count === 1 ? "for one proxy" : `for ${count} proxies`}
        </li>
      ))}
    </ul>
  );
}

const maxResources = 20;
const maxLines = 200;

function Resources({ resources }: { readonly resources: readonly DiffResource[] }) {
  if (resources.length === 0) return null;
  return (
    <>
      <h3>In Envoys</h3>
      {resources.slice(0, maxResources).map(({ type, name, proxies, lines }) => (
        <details key={`${type} ${name} ${lines[0]}`}>
          <summary>
            {type.slice(type.lastIndexOf(".") + 1)} <bdi>{name}</bdi> of {proxies} {proxies === 1 ? "proxy" : "proxies"}
          </summary>
          <Diff lines={lines.slice(0, maxLines)} />
        </details>
      ))}
      {resources.length > maxResources ? <p>{resources.length - maxResources} more are not shown.</p> : null}
    </>
  );
}
