/** What is different for each class of proxies in; sentences with counts, the dangerous ones first, out. */
import { type Change, type Comparison, createComparison } from "../../explain/index.ts";
import { compareText } from "../../lib/index.ts";
import type { DiffAnswer, DiffClass } from "../../read-api/index.ts";
import type { StateChange } from "./states.ts";

export type Summary = Pick<DiffAnswer, "sentences" | "classes">;

export function summaryOf({ groups }: StateChange): Summary {
  const comparison = createComparison();
  const found = new Map<string, { readonly change: Change; readonly proxies: Set<string> }>();
  for (const { differences, after, proxies } of groups)
    for (const change of comparison.changes(differences, after)) {
      const key = JSON.stringify(change);
      const known = found.get(key) ?? { change, proxies: new Set<string>() };
      found.set(key, known);
      for (const proxy of proxies) known.proxies.add(proxy);
    }
  const short = shortNames([...found.values()].map(({ change }) => change.subject));
  const sentences = [...found.values()].map(({ change: { subject, ...rest }, proxies }) => ({
    ...rest,
    subject: short.get(subject) ?? subject,
    host: subject,
    text: shortened(rest.text, short),
    count: proxies.size,
    proxies: [...proxies].sort(compareText),
  }));
  return {
    sentences: sentences.sort(
      (a, b) =>
        Number(b.risk !== undefined) - Number(a.risk !== undefined) ||
        b.count - a.count ||
        compareText(`${a.subject} ${a.text}`, `${b.subject} ${b.text}`),
    ),
    classes: classesOf(groups, comparison),
  };
}

/** Proxies for which the same resources change in the same way are one. */
function classesOf(groups: StateChange["groups"], comparison: Comparison): readonly DiffClass[] {
  const keyOf = ({ differences }: StateChange["groups"][number]): string =>
    differences.map(({ type, name, before, after }) => `${type} ${name} ${before?.hash} ${after?.hash}`).join("\n");
  return [...Map.groupBy(groups, keyOf).values()].map((alike) => ({
    count: alike.reduce((sum, { proxies }) => sum + proxies.length, 0),
    proxies: alike.flatMap(({ proxies }) => proxies).sort(compareText),
    resources: (alike[0]?.differences ?? []).map((difference) => {
      const { type, name, before, after } = difference;
      const hosts = comparison.hosts(difference);
      const change = before ? (after ? ("changed" as const) : ("gone" as const)) : ("new" as const);
      return { type, name, change, ...(hosts.length > 0 ? { hosts } : {}) };
    }),
  }));
}

/** `reviews` for `reviews.default.svc.cluster.local`; with its namespace where several are called so. */
function shortNames(hosts: readonly string[]): ReadonlyMap<string, string> {
  const services = [...new Set(hosts)].flatMap((host) => {
    const [, name, namespace] = /^([^.]+)\.([^.]+)\.svc\./.exec(host) ?? [];
    return name === undefined || namespace === undefined ? [] : [{ host, name, namespace }];
  });
  const count = Map.groupBy(services, ({ name }) => name);
  return new Map(
    services.map(({ host, name, namespace }) => [
      host,
      (count.get(name)?.length ?? 0) > 1 ? `${name}.${namespace}` : name,
    ]),
  );
}

/** Other hosts in a sentence by the same names. */
function shortened(text: string, short: ReadonlyMap<string, string>): string {
  return text.replace(/[\w-]+\.[\w-]+\.svc\.[\w.-]+/g, (host) => short.get(host) ?? host.replace(/\.svc\..*$/, ""));
}
