/** Objects and changes of them in, one after the other; what each would change in Envoys, in words and with counts, out. */
import { FairleadError } from "../../lib/index.ts";
import type { KubeObject } from "../../model/index.ts";
import type { DiffAnalysis, DiffAnswer, DiffTold } from "../../read-api/index.ts";
import { createJsonPrinter } from "../../render/index.ts";
import { type completed, numbersOf } from "./completed.ts";
import { withoutEffect } from "./no-effect.ts";
import { type Change, type Proposal, propose } from "./proposal.ts";
import { resourceDiffs } from "./resource-diff.ts";
import {
  compareStates,
  createStates,
  type ProxyChoice,
  type States,
  type StatesOptions,
  type Subject,
} from "./states.ts";
import { summaryOf } from "./summary.ts";

export interface Diffing {
  /** As they are, without the change. */
  readonly base: readonly KubeObject[];
  readonly change: Change;
  readonly before: ProxyChoice;
  readonly after: ProxyChoice;
  /** Proxies that are looked at, by name; empty: all. */
  readonly wanted: readonly string[];
  /** Those that are connected; Pods of the same names are not looked at again. */
  readonly connected?: readonly ConnectedProxy[];
  readonly resources: boolean;
  /** What analysers say of the objects after the change; absent: they are not asked. */
  analyze?(after: readonly KubeObject[]): DiffAnalysis;
}

export interface ConnectedProxy {
  readonly name: string;
  readonly subject: Subject;
}

export interface Differ {
  diff(asked: Diffing): Promise<DiffAnswer>;
  /** Works out what is sent without any change, so that a later question costs its own size. Also after a question. */
  settle(base: readonly KubeObject[], connected?: readonly ConnectedProxy[]): Promise<void>;
  readonly states: States | undefined;
}

export interface DifferOptions extends Omit<StatesOptions, "objects"> {
  readonly complete: typeof completed;
}

export function createDiffer({ complete, ...options }: DifferOptions): Differ {
  let states: States | undefined;
  /** What was said of the last question's change. */
  let forget = (): void => {};

  async function at(base: readonly KubeObject[], isPatched: boolean): Promise<States> {
    forget();
    forget = () => {};
    if (states) states.moveTo(base);
    const opened = states ?? createStates({ ...options, objects: base });
    states = opened;
    if (isPatched) await opened.loadPatches();
    return opened;
  }

  async function diff(asked: Diffing): Promise<DiffAnswer> {
    const { base, change } = asked;
    const proposal = await propose(base, change);
    const numbers = numbersOf([...base, ...change.wanted]);
    const [was, will] = [complete(base, numbers), complete(proposal.after, numbers)];
    const opened = await at(was.objects, [...base, ...proposal.after].some(isPatch));
    const before = opened.take(asked.before, subjectsOf(opened, asked, undefined));
    forget = opened.tryOut();
    const problems = new Set(opened.problems());
    opened.moveTo(will.objects);
    const after = opened.take(asked.after, subjectsOf(opened, asked, proposal));
    if (before.size + after.size === 0 && (asked.wanted.length > 0 || !asked.connected)) throw noProxy(asked, opened);
    const changed = compareStates(before, after);
    const isQuiet = changed.groups.length + changed.added.length + changed.removed.length === 0;
    const warnings = [
      ...proposal.warnings,
      ...opened
        .problems()
        .filter((text) => !problems.has(text))
        .map(toldOf),
    ];
    // Comes last: it takes objects back one by one.
    const idle = withoutEffect({
      ...{ states: opened, base, proposal, numbers, complete, now: after, choice: asked.after, isQuiet },
      subjects: () => subjectsOf(opened, asked, proposal),
    });
    return {
      ...summaryOf(changed),
      proxies: after.size,
      added: changed.added,
      removed: changed.removed,
      refused: proposal.refused,
      ignored: [...proposal.ignored, ...idle],
      warnings,
      notes: [...new Set([...was.notes, ...will.notes])],
      resources: asked.resources ? resourceDiffs(changed, createJsonPrinter()) : [],
      ...(asked.analyze ? { analysis: asked.analyze(proposal.after) } : {}),
    };
  }

  return {
    diff,
    async settle(base, connected) {
      const opened = await at(complete(base, numbersOf(base)).objects, base.some(isPatch));
      const state = opened.take({}, subjectsOf(opened, { wanted: [], ...(connected ? { connected } : {}) }, undefined));
      opened.keepOnly([state]);
    },
    get states() {
      return states;
    },
  };
}

const isPatch = ({ kind }: KubeObject): boolean => kind === "EnvoyFilter";

/** A proxy is there for as long as its Pod is; a Pod that comes has one. */
function subjectsOf(
  states: States,
  { wanted, connected = [] }: Pick<Diffing, "wanted" | "connected">,
  proposal: Proposal | undefined,
): readonly Subject[] {
  const gone = new Set(proposal?.gone ?? []);
  const names = new Set(connected.map(({ name }) => podKey(name)));
  const all = [
    ...connected.filter(({ name }) => !gone.has(podKey(name))).map(({ subject }) => subject),
    ...states.pods().filter(({ key }) => !names.has(key)),
  ];
  if (wanted.length === 0) return all;
  const meant = new Set(wanted);
  const meantPods = new Set(wanted.map(podKey));
  const own = new Set(connected.filter(({ name }) => meant.has(name)).map(({ subject }) => subject));
  return all.filter((subject) => own.has(subject) || meantPods.has(subject.key));
}

/** `pod.namespace` as `Pod/namespace/pod`. */
function podKey(name: string): string {
  const dot = name.lastIndexOf(".");
  return `Pod/${name.slice(dot + 1)}/${name.slice(0, dot)}`;
}

/** `Kind/ns/name field: message`, as problems are put in words. */
function toldOf(text: string): DiffTold {
  const [, object = "", message = text] = /^(\S+?):? (.*)$/s.exec(text) ?? [];
  return { object, message };
}

function noProxy({ wanted }: Diffing, { offline }: States): FairleadError {
  const known = offline.proxies().map(({ name, namespace }) => `${name}.${namespace}`);
  return new FairleadError(
    "not-found",
    wanted.length > 0 ? `no proxy is called ${wanted.join(" or ")}` : "there is no proxy",
    {
      hint:
        known.length === 0
          ? "no Pod has a container named istio-proxy, and there is no Deployment or Service that one could stand for"
          : `there is ${known.slice(0, 8).join(", ")}${known.length > 8 ? ", …" : ""}`,
    },
  );
}
