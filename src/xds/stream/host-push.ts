/**
 * Responses on whole route configurations in, the same as VHDS has it out: the configuration once, then its virtual
 * hosts as they change. What a route configuration is, waits for and was answered is decided on the whole as ever.
 *
 * Envoy never says which configuration wants hosts and drops those that it has no configuration for. So all hosts follow
 * each configuration that is asked for, and a name that is alive stays the way it is, plain or apart, for as long as the
 * client has it. One that comes back claims hosts that it has dropped, too: it is believed where the configuration and
 * the mark among its hosts are of the same epoch, the one at which all of them were sent, and is sent all anew otherwise.
 */
import { dropOldest } from "../../lib/index.ts";
import { type Resource, types } from "../../model/index.ts";
import { createHostClaims } from "./host-claims.ts";
import type { DeltaRequest } from "./request.ts";
import type { Mark, Response } from "./response.ts";
import { type HostStep, stepFrom } from "./route-hosts.ts";
import {
  epochMark,
  epochName,
  formatRestVersion,
  isApartVersion,
  parseRestVersion,
  type RestVersion,
  type RouteApart,
  routeOf,
} from "./route-parts.ts";
import { maxExpired, maxInFlight } from "./unanswered.ts";
import type { Versions } from "./version.ts";

export interface HostPushOptions {
  /** Whether what is newly asked for goes this way; what the client has from before stays as it is. */
  readonly enabled: boolean;
  readonly apart: RouteApart;
  readonly versions: Versions;
  /** Whether the client follows this route configuration, by the requests that its state has seen. */
  readonly isAsked: (route: string) => boolean;
}

export interface HostPush {
  /** A request on routes, before their state sees it; what is to be told at once comes back. */
  noteRoutes(request: Pick<DeltaRequest, "subscribe" | "unsubscribe" | "initial">): readonly Response[];
  /** What the client says to hold on its first request for hosts, with versions. The map is given away. */
  noteClaims(claims: ReadonlyMap<string, string>): void;
  /** To be called after either request, once their states have seen it; what is to be told at once comes back. */
  matchClaims(): readonly Response[];
  /** Undefined for a nonce that is not awaited. */
  settle(nonce: string, error: string | undefined): Settlement | undefined;
  /** Empty where only the order of hosts has changed. */
  translate(response: Response): readonly Response[];
  /**
   * Nothing is sent on routes until then. A client that comes back tells its hosts in a request of its own: without it,
   * those that are gone cannot be removed. And what is sent before an answer might be all that is taken, where the whole
   * of what was sent before is refused: a mixture that nobody has wanted.
   */
  awaits(nowMs: number): boolean;
  wakeAtMs(): number | undefined;
  /** Whether the client has this route configuration apart from its hosts. */
  isApart(route: string): boolean;
}

export interface Settlement {
  /** Set once all parts of a response are answered: the answer on the whole. */
  readonly whole?: { readonly nonce: string; readonly error?: string; readonly refused?: ReadonlySet<string> };
  /** Routes of which later changes were built on what was refused. */
  readonly again: readonly string[];
}

/** What the client has of a route configuration. */
interface Told {
  /** Undefined where it is not known, and all must be sent. */
  readonly route: Resource | undefined;
  /** When all was sent. */
  readonly epoch: string;
  /** Hosts that it may have beside. */
  readonly doubts: ReadonlySet<string>;
  /** By its own word, of an earlier stream: its configuration and, once that was found true, its hosts. */
  readonly resumed?: RestVersion & { readonly hosts?: ReadonlyMap<string, string> };
}

interface Group {
  readonly nonce: string;
  /** Nonces of its parts, with the route that they are of. */
  readonly open: Map<string, string>;
  readonly errors: { readonly route: string; readonly text: string }[];
  /** Without those that were given up since. */
  readonly routes: Map<string, { readonly before: Told; readonly after: Resource }>;
  /** It was waited for long enough. */
  overdue: boolean;
}

const claimsWaitMs = 1000;
const answerWaitMs = 5000;

/** As much as is kept of what is said of one response. */
const maxWords = 4096;

/** Each has its share, as each begins with the name that it is of. A copy: a part of a text keeps all of it. */
function joined(texts: readonly string[]): string {
  const share = Math.ceil(maxWords / texts.length);
  const text = texts.map((one) => one.slice(0, share)).join("; ");
  return Buffer.from(text.slice(0, maxWords)).toString();
}

const none: ReadonlySet<string> = new Set();
const noNames: readonly string[] = [];
const unknown: Told = { route: undefined, epoch: "", doubts: none };

export function createHostPush({ enabled, apart, versions, isAsked }: HostPushOptions): HostPush {
  const plain = new Set<string>();
  const told = new Map<string, Told>();
  const claims = createHostClaims();
  let groups: readonly Group[] = [];
  /** Nonces whose answers nothing waits for, or not any longer, with the route that they are of. */
  const unawaited = new Map<string, string>();
  /** Since when routes wait, and until when they do at most. */
  let waiting: { readonly sinceMs: number; readonly untilMs: number } | undefined;

  const namesOf = (route: Resource | undefined): Iterable<string> => (route ? apart.of(route).hosts.keys() : none);
  const mayHave = ({ route, doubts }: Told): readonly string[] => [...doubts, ...namesOf(route)];

  function subscribe(name: string, version: string | undefined): void {
    if (version !== undefined && isApartVersion(version)) {
      claims.expect();
      told.set(name, { ...unknown, resumed: parseRestVersion(version) });
    } else if (version !== undefined || (!enabled && !told.has(name))) plain.add(name);
    else if (!plain.has(name)) doubt(name);
  }

  /** What the client says to hold stays in doubt until it has accepted the removal of what is gone. */
  function beforeOf(name: string): Told {
    const { resumed, ...before } = told.get(name) ?? unknown;
    const claimed = claims.take(name);
    if (!claimed) return before;
    const known = { ...before, doubts: before.doubts.union(new Set(claimed.hosts.keys())) };
    if (!resumed || resumed.epoch === "" || resumed.epoch !== claimed.epoch) return known;
    return { ...known, epoch: resumed.epoch, resumed: { ...resumed, hosts: claimed.hosts } };
  }

  /** The client may have any of these hosts, or none. */
  function doubt(name: string, more: Iterable<string> = none): void {
    const before = told.get(name);
    if (before) told.set(name, { ...unknown, doubts: new Set([...mayHave(before), ...more]) });
  }

  /**
   * Envoy drops the hosts with the route, but says later that it has them. Were it asked for again, with other hosts, these
   * would have a mark of their own epoch, and vouch for those of before: so it is told to forget them all. These names are
   * what comes back, once: who gives it up again is told nothing more of them.
   */
  function giveUp(name: string): readonly string[] {
    const open = groups.flatMap(({ routes }) => routes.get(name)?.before ?? []);
    for (const { routes } of groups) routes.delete(name);
    const names = new Set([told.get(name) ?? unknown, ...open].flatMap(mayHave));
    for (const claimed of claims.take(name)?.hosts.keys() ?? none) names.add(claimed);
    plain.delete(name);
    told.delete(name);
    return names.size === 0 ? noNames : [...names, epochName(name)];
  }

  /** Of routes that were sent already, those hosts that are not there; of routes that nobody asks for, all: they may be lies. */
  function* unwanted(all: ReadonlyMap<string, string>): Generator<string> {
    for (const name of all.keys()) if (!isAsked(routeOf(name))) yield name;
    for (const route of claims.routes()) {
      const now = told.get(route)?.route;
      const claimed = now && claims.take(route);
      if (claimed) yield* stepFrom(claimed.hosts, apart.of(now).hosts).removed;
    }
  }

  function isPlain(route: Resource): boolean {
    if (!plain.has(route.name) && !told.has(route.name) && !apart.of(route).isSound) plain.add(route.name);
    return plain.has(route.name);
  }

  function hostsResponse(resources: readonly Resource[], removed: readonly string[], mark?: Mark): Response {
    return { type: types.route, isOfHosts: true, ...versions.next(), resources, removed, ...(mark ? { mark } : {}) };
  }

  /**
   * Beside any response on routes: nothing waits for its answer, but its nonce is known. One for all of them: a client may
   * name as many routes as it likes, and what follows from one request is written in one turn.
   */
  function removal(names: readonly string[]): readonly Response[] {
    if (names.length === 0) return [];
    const response = hostsResponse([], names);
    noteUnawaited(response.nonce, "");
    return [response];
  }

  /** All of it, with the removal of what it does not have; one without hosts removes something, or Envoy would wait. */
  function whole(route: Resource, before: Told): HostStep {
    const { hosts } = apart.of(route);
    const gone = before.doubts.size === 0 ? none : before.doubts.difference(hosts);
    if (gone.size > 0) return { changed: apart.whole(route), removed: [...gone] };
    return { changed: apart.whole(route), removed: hosts.size > 0 ? noNames : [`${route.name}/~none`] };
  }

  /** What leads from what the client has to this; undefined where that is not known. */
  function stepTo(route: Resource, before: Told): HostStep | undefined {
    if (before.route) return apart.between(before.route, route);
    return before.resumed?.hosts && stepFrom(before.resumed.hosts, apart.of(route).hosts);
  }

  /** Another one for each time that all is sent, whoever sends it. */
  const newEpoch = (): string => versions.unique();

  /**
   * The configuration where that differs, right before its hosts: a refusal of hosts makes Envoy use every configuration
   * that it has and that still waits for its own.
   */
  function* partsOf({ type }: Response, route: Resource, before: Told, epoch: string): Generator<Response> {
    const { rest } = apart.of(route);
    const held = before.route ? apart.of(before.route).rest.hash : before.resumed?.digest;
    if (held !== rest.hash) {
      const resource = { ...rest, hash: formatRestVersion({ digest: rest.hash, epoch }) };
      yield { type, ...versions.next(), resources: [resource], removed: [] };
    }
    const step = stepTo(route, before);
    const { changed, removed } = step ?? whole(route, before);
    if (!step) yield hostsResponse(changed, removed, epochMark(route.name, epoch));
    else if (changed.length + removed.length > 0) yield hostsResponse(changed, removed);
  }

  function translate(response: Response): readonly Response[] {
    const [asTheyAre, apartFrom] = [
      response.resources.filter(isPlain),
      response.resources.filter((one) => !isPlain(one)),
    ];
    // One that was cut off from its hosts still waits for them, and must not see those of another refused before.
    const others = apartFrom.toSorted((a, b) => Number(claims.has(a.name)) - Number(claims.has(b.name)));
    const parts: Response[] = [];
    const open = new Map<string, string>();
    const routes = new Map<string, { before: Told; after: Resource }>();
    for (const name of response.removed) doubt(name);
    if (asTheyAre.length + response.removed.length > 0 || response.resources.length === 0) {
      parts.push({ ...response, resources: asTheyAre });
      open.set(response.nonce, "");
    }
    for (const route of others) {
      const before = beforeOf(route.name);
      const epoch = before.epoch === "" ? newEpoch() : before.epoch;
      routes.set(route.name, { before, after: route });
      told.set(route.name, { route, epoch, doubts: none });
      for (const part of partsOf(response, route, before, epoch)) {
        parts.push(part);
        open.set(part.nonce, route.name);
      }
    }
    if (routes.size > 0 && open.size > 0) add({ nonce: response.nonce, open, errors: [], routes, overdue: false });
    return parts;
  }

  function add(group: Group): void {
    const [oldest] = groups.length < maxInFlight ? [] : groups;
    groups = [...groups.filter((one) => one !== oldest), group];
    for (const [nonce, route] of oldest?.open ?? []) noteUnawaited(nonce, route);
  }

  function noteUnawaited(nonce: string, route: string): void {
    unawaited.set(nonce, route);
    dropOldest(unawaited, maxExpired);
  }

  /** What a late answer asks for counts; what it refuses is not there, whatever was built on it since. */
  function settleLate(nonce: string, error: string | undefined): Settlement | undefined {
    const route = unawaited.get(nonce);
    if (route === undefined) return undefined;
    unawaited.delete(nonce);
    if (error === undefined || !told.has(route)) return { again: [] };
    doubt(route);
    return { again: [route] };
  }

  function settle(nonce: string, words: string | undefined): Settlement | undefined {
    const group = groups.find(({ open }) => open.has(nonce));
    if (!group) return settleLate(nonce, words);
    const route = group.open.get(nonce) ?? "";
    // With the route's name, as what is refused is found by it.
    if (words !== undefined) group.errors.push({ route, text: route === "" ? words : `${route}: ${words}` });
    group.open.delete(nonce);
    if (group.open.size > 0) return { again: [] };
    groups = groups.filter((one) => one !== group);
    if (group.errors.length === 0) return { whole: { nonce: group.nonce }, again: [] };
    const error = joined(group.errors.map(({ text }) => text));
    // Parts are answered one by one; only those that are sent as they are may be several.
    const isKnown = group.errors.every((one) => one.route !== "");
    const known = isKnown ? { refused: new Set(group.errors.map((one) => one.route)) } : {};
    return { whole: { nonce: group.nonce, error, ...known }, again: [...refused(group)] };
  }

  function* refused({ routes }: Group): Generator<string> {
    for (const [name, { before, after }] of routes) {
      const now = told.get(name);
      if (!now) continue;
      doubt(name, [...mayHave(before), ...namesOf(after)]);
      if (now.route !== after) yield name;
    }
  }

  return {
    translate,
    settle,
    noteRoutes({ subscribe: asked, unsubscribe, initial }) {
      const givenUp = removal(unsubscribe.flatMap(giveUp));
      const versionsOf = claims.firstVersions(initial);
      // Each costs as much as it has hosts, and may be named as often as somebody likes.
      for (const name of new Set(asked)) subscribe(name, versionsOf.get(name));
      return givenUp;
    },
    noteClaims: claims.note,
    matchClaims() {
      const all = claims.match(isAsked);
      return all ? removal([...unwanted(all)]) : [];
    },
    awaits(nowMs) {
      const patienceMs = claims.areAwaited() ? claimsWaitMs : groups.some(({ overdue }) => !overdue) ? answerWaitMs : 0;
      const sinceMs = waiting?.sinceMs ?? nowMs;
      waiting = patienceMs > 0 ? { sinceMs, untilMs: sinceMs + patienceMs } : undefined;
      if (!waiting || nowMs < waiting.untilMs) return waiting !== undefined;
      waiting = undefined;
      claims.giveUpWaiting();
      for (const group of groups) group.overdue = true;
      return false;
    },
    wakeAtMs: () => waiting?.untilMs,
    isApart: (route) => told.has(route),
  };
}
