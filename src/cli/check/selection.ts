/** Findings and what was asked for in; those that were asked for out. */
import type { Finding } from "../../../scripts/preflight/finding.mjs";
import { FairleadError } from "../../lib/index.ts";

export interface Wanted {
  readonly category: readonly string[];
  readonly skip: readonly string[];
  /** All proxies, or one. */
  readonly proxy?: string | true;
}

/** Where proxies are looked at. */
const proxySections: ReadonlySet<string> = new Set(["agents", "proxies"]);

export function choose(findings: readonly Finding[], { category, skip, proxy }: Wanted): readonly Finding[] {
  const there = [...new Set(findings.map(({ section }) => section))];
  const unknown = [...category, ...skip].find((name) => !there.includes(name));
  // What does not answer has no categories of its own.
  const isDown = findings.some(({ state }) => state === "error");
  if (unknown !== undefined && !isDown)
    throw new FairleadError("usage", `there is no category ${JSON.stringify(unknown)}`, {
      hint: `there is ${there.join(", ")}`,
    });
  const chosen = findings.filter(
    ({ section, state }) =>
      (category.length === 0 || category.includes(section)) &&
      !skip.includes(section) &&
      (proxy === undefined || proxySections.has(section) || (state === "error" && isDown)),
  );
  if (typeof proxy !== "string") return chosen;
  const own = chosen.filter(
    ({ section, name, state }) => state === "error" || !proxySections.has(section) || isOf(name, proxy),
  );
  if (own.length > 0) return own;
  throw new FairleadError("not-found", `no proxy is called ${proxy}`, {
    hint: "name it as POD.NAMESPACE; `fairlead proxy-status` lists those that are connected",
  });
}

const isOf = (name: string, proxy: string): boolean => name.split(" ").includes(proxy);
