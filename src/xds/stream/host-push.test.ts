/** Route configurations whose virtual hosts go one by one: what is on the wire for each change, answer and return. */
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { type Resource, types } from "../../model/index.ts";
import { createEncode, payloadSize } from "../server/wire.ts";
import { createMemorySource, resource } from "../testing.ts";
import { virtualHostType } from "../type-info.ts";
import { createNamePool } from "./names.ts";
import { createRouteApart, splitRoute } from "./route-parts.ts";
import { createSteps } from "./steps.ts";
import { createStreamState, type Response, type StreamState } from "./stream-state.ts";
import { createVersions } from "./version.ts";

const { cluster: CDS, route: RDS } = types;

/** `{ host: "domain domain" }` */
type Hosts = Readonly<Record<string, string>>;

function route(name: string, hosts: Hosts, needs: readonly string[] = []): Resource {
  const virtualHosts = Object.entries(hosts).map(([host, domains]) => ({
    name: host,
    domains: domains.split(" "),
  }));
  const message = create(RouteConfigurationSchema, { name, virtualHosts });
  return resource(name, toBinary(RouteConfigurationSchema, message), needs);
}

function createClient(enabled = true) {
  const source = createMemorySource();
  let n = 0;
  let nowMs = 1000;
  const node = { id: "", cluster: "", metadata: {}, userAgent: "", extensions: new Set<string>() };
  const locality = { region: "", zone: "", subZone: "" };
  const session = source.connect({ ...node, locality }, undefined, (news) => state.changed(news));
  const state: StreamState = createStreamState({
    variant: "delta",
    session,
    versions: createVersions({ now: () => new Date(0), uuid: () => `-${++n}` }),
    steps: createSteps(),
    pool: createNamePool(),
    hosts: { enabled, apart: createRouteApart() },
    times: { maxWaitMs: 5000, drainMs: 0 },
    onHeldBack: () => {},
  });
  const ask = (type: Parameters<StreamState["receiveDelta"]>[0]["type"], request: object) =>
    state.receiveDelta({ type, subscribe: [], unsubscribe: [], initial: new Map(), nonce: "", ...request }, nowMs);
  const responses = (): Response[] => {
    const out: Response[] = [];
    for (let response = state.next(nowMs); response; response = state.next(nowMs)) out.push(response);
    return out;
  };
  /** Versions that it says to hold when it comes back. */
  const held = { [RDS]: new Map<string, string>(), [virtualHostType]: new Map<string, string>() };
  const answer = ({ type, isOfHosts, nonce, resources, mark, removed }: Response, error?: string) => {
    const mine = isOfHosts ? held[virtualHostType] : held[RDS];
    if (error === undefined) for (const { name, hash } of resources) mine.set(name, hash);
    if (error === undefined && mark) mine.set(mark.name, mark.version);
    if (error === undefined) for (const name of removed) mine.delete(name);
    return ask(isOfHosts ? virtualHostType : type, { nonce, ...(error === undefined ? {} : { error }) });
  };
  return {
    ask,
    held,
    /** As another one that had all this on an earlier stream. */
    comeBackAs(earlier: typeof held) {
      ask(RDS, { subscribe: [...earlier[RDS].keys()], initial: earlier[RDS] });
      ask(virtualHostType, { initial: earlier[virtualHostType] });
    },
    state,
    responses,
    answer,
    put: (...routes: Resource[]) => source.set({ [RDS]: routes }),
    source,
    advance(ms: number) {
      nowMs += ms;
      state.wake();
    },
    /** What goes out, acknowledged. */
    settle(): string[] {
      const out: string[] = [];
      for (let some = responses(); some.length > 0; some = responses())
        for (const response of some) {
          out.push(show(response));
          answer(response);
        }
      return out;
    },
    isAnswered: () => [...state.states()].every(({ nonce, ackedNonce }) => nonce === ackedNonce),
  };
}

const show = ({ isOfHosts, type, resources, removed }: Response): string =>
  [
    isOfHosts ? "VHDS" : type === RDS ? "RDS" : "CDS",
    ...resources.map(({ name }) => name),
    ...removed.map((name) => `-${name}`),
  ].join(" ");

test("the configuration once, with all its hosts; then only hosts that differ", () => {
  const client = createClient();
  client.put(route("80", { a: "a", b: "b" }), route("90", {}));
  client.ask(RDS, { subscribe: ["80", "90"] });
  expect(client.settle()).toEqual(["RDS 80", "VHDS 80/a 80/b", "RDS 90", "VHDS -90/~none"]);
  client.put(route("80", { a: "a x", b: "b" }), route("90", {}));
  expect(client.settle()).toEqual(["VHDS 80/a"]);
  client.put(route("80", { a: "a", c: "x" }), route("90", { d: "*" }));
  expect(client.settle()).toEqual(["VHDS 80/a 80/c -80/b", "VHDS 90/d"]);
  client.put(route("80", { c: "x", a: "a" }), route("90", { d: "*" }));
  expect(client.settle()).toEqual([]);
  expect(client.isAnswered()).toBe(true);
});

test("one host of 500 that changes costs less than 2 KB", () => {
  const client = createClient();
  const hosts = Object.fromEntries(
    Array.from({ length: 500 }, (_, i) => [
      `s${i}.default.svc.cluster.local:80`,
      `s${i} s${i}.default s${i}.default.svc`,
    ]),
  );
  client.put(route("80", hosts));
  client.ask(RDS, { subscribe: ["80"] });
  client.settle();
  client.put(route("80", { ...hosts, "s7.default.svc.cluster.local:80": "s7 s7.default other" }));
  const encode = createEncode("test");
  const sizes = client
    .responses()
    .map((response) => payloadSize(encode("delta", { ...response, type: virtualHostType })));
  expect(sizes).toHaveLength(1);
  expect(sizes[0]).toBeLessThan(2048);
});

test("given up, what the client would still say to hold is removed; asked for again, all hosts come anew", () => {
  const client = createClient();
  client.put(route("80", { a: "a" }));
  client.ask(RDS, { subscribe: ["80"] });
  client.settle();
  client.ask(RDS, { unsubscribe: ["80"] });
  client.put(route("80", { a: "a", b: "b" }));
  expect(client.settle()).toEqual(["VHDS -80/a -80/~epoch"]);
  client.ask(RDS, { unsubscribe: ["80"] });
  expect(client.settle()).toEqual([]);
  client.ask(RDS, { subscribe: ["80"] });
  expect(client.settle()).toEqual(["RDS 80", "VHDS 80/a 80/b"]);
});

describe("named very often,", () => {
  const count = 2000;
  const many = Object.fromEntries(Array.from({ length: count }, (_, i) => [`h${i}`, `d${i}`]));
  /** It comes back with all hosts of before, and was sent those of now. */
  const begin = () => {
    const client = createClient();
    client.put(route("80", { a: "a" }));
    const before = [...Object.keys(many).map((host) => `80/${host}`), "80/~epoch"];
    client.comeBackAs({
      [RDS]: new Map([["80", "digest.epoch.vhds"]]),
      [virtualHostType]: new Map(before.map((name) => [name, "epoch"])),
    });
    return { ...client, sent: client.responses() };
  };

  test("a route is given up once, though what it had is not answered", () => {
    const { ask, responses } = begin();
    ask(RDS, { unsubscribe: Array.from({ length: 50 }, () => "80") });
    ask(RDS, { unsubscribe: ["80"] });
    // Those of before, the one of now, and the mark among them.
    expect(responses().map(({ removed }) => removed.length)).toEqual([count + 2]);
    ask(RDS, { unsubscribe: ["80"] });
    expect(responses()).toEqual([]);
  });

  test("a route is doubted once", () => {
    const { ask, put, settle } = createClient();
    put(route("80", many));
    ask(RDS, { subscribe: ["80"] });
    settle();
    const startedMs = performance.now();
    ask(RDS, { subscribe: Array.from({ length: 20_000 }, () => "80") });
    // All its hosts were put together each time: it took three seconds.
    expect(performance.now() - startedMs).toBeLessThan(500);
    expect(settle().map((text) => text.split(" ").length)).toEqual([2, count + 1]);
  });

  test("what is asked for again stays as it was sent since, though what was given up is refused then", () => {
    const { ask, answer, advance, sent, settle, responses, isAnswered } = begin();
    ask(RDS, { unsubscribe: ["80"] });
    ask(RDS, { subscribe: ["80"] });
    const removal = responses();
    // What is open is waited for.
    advance(5000);
    const since = [...removal, ...responses()];
    expect(since.map(({ removed, resources }) => removed.length + resources.length)).toEqual([count + 2, 1, 1]);
    for (const response of sent) answer(response, "no");
    for (const response of since) answer(response);
    expect(settle()).toEqual([]);
    expect(isAnswered()).toBe(true);
  });
});

test("given up while an answer is awaited: what only the earlier response had is removed too", () => {
  const client = createClient();
  client.put(route("80", { a: "a", b: "b" }));
  client.ask(RDS, { subscribe: ["80"] });
  client.settle();
  client.put(route("80", { a: "a" }));
  expect(client.responses().map(show)).toEqual(["VHDS -80/b"]);
  client.ask(RDS, { unsubscribe: ["80"] });
  expect(client.settle()).toEqual(["VHDS -80/a -80/b -80/~epoch"]);
});

test("given up, asked for again and lost: hosts of the first time are not believed to be there", () => {
  const client = createClient();
  client.put(route("80", { a: "a", any: "*" }));
  client.ask(RDS, { subscribe: ["80"] });
  client.settle();
  client.ask(RDS, { unsubscribe: ["80"] });
  client.put(route("80", { a: "a", none: "*" }));
  client.ask(RDS, { subscribe: ["80"] });
  client.settle();
  const next = createClient();
  next.put(route("80", { a: "a", any: "*" }));
  next.comeBackAs(client.held);
  expect(next.settle()).toEqual(["VHDS 80/any -80/none"]);
});

test("what a client says to hold of a route that it gives up is removed", () => {
  const client = createClient();
  client.put();
  client.ask(RDS, { subscribe: ["80"], initial: new Map([["80", "1.1.vhds"]]) });
  client.ask(virtualHostType, { initial: new Map([["80/a", "1"]]) });
  client.settle();
  client.ask(RDS, { unsubscribe: ["80"] });
  expect(client.settle()).toEqual(["VHDS -80/a -80/~epoch"]);
});

test("routes that are given up together are told of in one response", () => {
  const client = createClient();
  client.put(route("80", { a: "a" }), route("90", { b: "b" }));
  client.ask(RDS, { subscribe: ["80", "90"] });
  client.settle();
  client.ask(RDS, { unsubscribe: ["80", "90"] });
  expect(client.settle()).toEqual(["VHDS -80/a -80/~epoch -90/b -90/~epoch"]);
});

describe("what a client says to hold", () => {
  const routes = Array.from({ length: 10_000 }, (_, i) => `r${i}`);
  const claims = new Map(["80/a", "70/a", "70/~epoch", "60/b"].map((name) => [name, "1"] as const));

  test.each<readonly [string, (client: ReturnType<typeof createClient>) => void]>([
    [
      "before it asks for routes",
      ({ ask }) => {
        ask(virtualHostType, { initial: claims });
        ask(RDS, { subscribe: ["80"] });
      },
    ],
    [
      "after it has asked for routes",
      ({ ask }) => {
        ask(RDS, { subscribe: ["80"] });
        ask(virtualHostType, { initial: claims });
      },
    ],
  ])("%s of others than these is removed in one response, and is not heard of again", (_, begin) => {
    const client = createClient();
    client.put(route("80", { a: "a" }), route("70", { c: "c" }));
    begin(client);
    expect(client.settle()).toEqual(["VHDS -70/a -70/~epoch -60/b", "RDS 80", "VHDS 80/a"]);
    client.ask(RDS, { unsubscribe: ["60"] });
    expect(client.settle()).toEqual([]);
    client.ask(RDS, { subscribe: ["70"] });
    expect(client.settle()).toEqual(["RDS 70", "VHDS 70/c"]);
  });

  test.each([
    ["does not ask for", ["80"]],
    ["asks for", routes],
  ])("is one response, however many routes it %s, and gives up", (_, subscribe) => {
    const client = createClient();
    client.ask(RDS, { subscribe });
    client.ask(virtualHostType, { initial: new Map(routes.map((name) => [`${name}/h`, "1"])) });
    client.ask(RDS, { unsubscribe: routes });
    expect(client.settle().filter((response) => response.startsWith("VHDS"))).toHaveLength(1);
  });
});

test("gone and back while asked for: all hosts anew, without those of before", () => {
  const client = createClient();
  client.put(route("80", { a: "a", b: "b" }));
  client.ask(RDS, { subscribe: ["80"] });
  client.settle();
  client.put();
  expect(client.settle()).toEqual(["RDS -80"]);
  client.put(route("80", { a: "a" }));
  expect(client.settle()).toEqual(["RDS 80", "VHDS 80/a -80/b"]);
});

test("who comes back says what it holds: all is sent anew, and what is gone removed in the same response", () => {
  const client = createClient(false);
  client.put(route("80", { a: "a", c: "b" }), route("90", { a: "a" }), route("91", { a: "a" }));
  const initial = new Map([
    ["80", "1.vhds"],
    ["90", "1"],
  ]);
  client.ask(RDS, { subscribe: ["80", "90", "91"], initial });
  expect(client.settle()).toEqual([]);
  const held = ["80/a", "80/b", "70/a"].map((name) => [name, "1"] as const);
  client.ask(virtualHostType, { initial: new Map(held) });
  expect(client.settle()).toEqual(["VHDS -70/a", "RDS 90 91", "RDS 80", "VHDS 80/a 80/c -80/b"]);
});

describe("who comes back with the mark of its configuration's epoch", () => {
  const before = [route("80", { a: "a", b: "b" }), route("90", {})];

  /** What it is sent when this is there, by a control plane that knows nothing of it; and what it holds then. */
  function comeBack(earlier: ReturnType<typeof createClient>["held"], ...routes: Resource[]) {
    const client = createClient();
    client.put(...routes);
    client.comeBackAs(earlier);
    const sent = client.settle();
    return { sent, client };
  }
  function first() {
    const client = createClient();
    client.put(...before);
    client.ask(RDS, { subscribe: ["80", "90"] });
    client.settle();
    return client;
  }

  test("is sent nothing that it has, and counts as in step", () => {
    const { sent, client } = comeBack(first().held, ...before);
    expect(sent).toEqual([]);
    expect(client.isAnswered()).toBe(true);
    client.put(route("80", { a: "x", b: "b" }), route("90", {}));
    expect(client.settle()).toEqual(["VHDS 80/a"]);
  });

  test("is sent what has changed meanwhile, and told what is gone", () => {
    const { held } = first();
    expect(comeBack(held, route("80", { a: "a x", c: "b" }), route("90", { d: "*" })).sent).toEqual([
      "VHDS 80/a 80/c -80/b",
      "VHDS 90/d",
    ]);
  });

  test("and then again, with a configuration of the same epoch", () => {
    const { held } = first();
    const other = create(RouteConfigurationSchema, {
      ...{ name: "80", maxDirectResponseBodySizeBytes: 7 },
      virtualHosts: ["a", "b"].map((name) => ({ name, domains: [name] })),
    });
    const changed = [resource("80", toBinary(RouteConfigurationSchema, other)), route("90", {})];
    const { sent, client } = comeBack(held, ...changed);
    expect(sent).toEqual(["RDS 80"]);
    const merged = {
      [RDS]: new Map([...held[RDS], ...client.held[RDS]]),
      [virtualHostType]: held[virtualHostType],
    };
    expect(comeBack(merged, ...changed).sent).toEqual([]);
  });

  test("is told again what is gone, when the response that said so was refused", () => {
    const client = createClient();
    client.put(route("80", { a: "bad" }), route("90", {}));
    client.comeBackAs(first().held);
    const [hosts] = client.responses();
    if (!hosts) throw new Error("no response");
    expect(show(hosts)).toBe("VHDS 80/a -80/b");
    client.answer(hosts, "bad host");
    client.put(route("80", { a: "good" }), route("90", {}));
    expect(client.settle()).toEqual(["RDS 80", "VHDS 80/a -80/b"]);
  });
});

test("who was sent a configuration anew, and cut off before its hosts, is not believed to have them", () => {
  const client = createClient();
  client.put(route("80", { a: "a" }));
  client.ask(RDS, { subscribe: ["80"] });
  client.settle();
  // It gave the route up and asked for it again: what it claims to have of it is gone.
  client.ask(RDS, { unsubscribe: ["80"] });
  client.ask(RDS, { subscribe: ["80"] });
  const [configuration] = client.responses();
  if (!configuration) throw new Error("no response");
  client.answer(configuration);
  const later = createClient();
  later.put(route("80", { a: "a" }));
  later.comeBackAs(client.held);
  expect(later.settle()).toEqual(["RDS 80", "VHDS 80/a"]);
});

test("who was cut off before the hosts of a route came is sent that route first", () => {
  const client = createClient();
  client.put(route("80", { a: "a" }), route("90", { b: "b" }));
  const initial = new Map(["80", "90"].map((name) => [name, "1.vhds"]));
  client.ask(RDS, { subscribe: ["80", "90"], initial });
  client.ask(virtualHostType, { initial: new Map([["80/a", "1"]]) });
  expect(client.settle()).toEqual(["RDS 90", "VHDS 90/b", "RDS 80", "VHDS 80/a"]);
});

test("what is gone is removed again when the response that removed it was refused", () => {
  const client = createClient();
  client.put(route("80", { c: "b bad" }));
  client.ask(RDS, { subscribe: ["80"], initial: new Map([["80", "1.vhds"]]) });
  client.ask(virtualHostType, { initial: new Map([["80/b", "1"]]) });
  const [rds, vhds] = client.responses();
  if (!rds || !vhds) throw new Error("no response");
  client.answer(rds);
  client.answer(vhds, "bad host");
  client.put(route("80", { c: "b" }));
  expect(client.settle()).toEqual(["RDS 80", "VHDS 80/c -80/b"]);
});

test("who comes back and says nothing is not waited for for ever; what it says late is removed", () => {
  const client = createClient();
  client.put(route("80", { a: "a" }));
  client.ask(RDS, { subscribe: ["80"], initial: new Map([["80", "1.vhds"]]) });
  expect(client.settle()).toEqual([]);
  expect(client.state.wakeAtMs()).toBe(2000);
  client.advance(1000);
  expect(client.settle()).toEqual(["RDS 80", "VHDS 80/a"]);
  client.ask(virtualHostType, { initial: new Map([["80/b", "1"]]) });
  expect(client.settle()).toEqual(["VHDS -80/b"]);
  expect(client.isAnswered()).toBe(true);
});

test("who has said what it holds before it asks for routes is not waited for", () => {
  const client = createClient();
  client.put(route("80", { a: "a" }));
  client.ask(virtualHostType, { initial: new Map([["80/b", "1"]]) });
  client.ask(RDS, { subscribe: ["80"], initial: new Map([["80", "1.vhds"]]) });
  expect(client.settle()).toEqual(["RDS 80", "VHDS 80/a -80/b"]);
});

test("an answer on hosts with a nonce that was never sent says nothing", () => {
  const client = createClient();
  client.put(route("80", { a: "a", b: "b" }));
  client.ask(RDS, { subscribe: ["80"] });
  const events = client.responses().map((response) => client.answer(response).event);
  expect(events).toEqual(["ack", "ack"]);
  expect(client.ask(virtualHostType, { nonce: "made up" }).event).toBe("stale");
  expect(client.ask(virtualHostType, { nonce: "made up", error: "no" }).event).toBe("stale");
  // Hosts that go beside any response have nonces too.
  client.ask(RDS, { unsubscribe: ["80"] });
  const [gone] = client.responses();
  expect(gone && show(gone)).toBe("VHDS -80/a -80/b -80/~epoch");
  expect(gone && client.answer(gone).event).toBe("ack");
});

test("a route is answered when all its parts are; a refusal of hosts is one of the route, and all is sent next", () => {
  const client = createClient();
  client.put(route("80", { a: "a", b: "b" }));
  client.ask(RDS, { subscribe: ["80"] });
  const [rds, vhds] = client.responses();
  if (!rds || !vhds) throw new Error("no response");
  expect(client.answer(rds)).toMatchObject({ event: "ack" });
  expect(client.isAnswered()).toBe(false);
  expect(client.answer(vhds, "bad host")).toMatchObject({ event: "nack" });
  const [state] = client.state.states();
  expect(state?.refusals?.lastError).toBe("80: bad host");
  expect([...(state?.refusals?.names() ?? [])]).toEqual(["80"]);
  expect(client.responses()).toEqual([]);
  client.put(route("80", { a: "a" }));
  expect(client.settle()).toEqual(["RDS 80", "VHDS 80/a -80/b"]);
  expect(client.isAnswered()).toBe(true);
  expect(state?.refusals?.lastError).toBe("");
});

test("a change waits for the answer to the one before: what was refused is not mixed with what follows", () => {
  const client = createClient();
  client.put(route("80", { a: "a", b: "*" }));
  client.ask(RDS, { subscribe: ["80"] });
  client.settle();
  client.put(route("80", { a: "bad", b: "*" }));
  const [first] = client.responses();
  client.put(route("80", { a: "bad", b: "* c" }));
  expect(client.responses()).toEqual([]);
  if (first) client.answer(first, "bad host");
  expect(client.settle()).toEqual(["RDS 80", "VHDS 80/a 80/b"]);
  expect(client.isAnswered()).toBe(true);
});

test("what was built on a change that was refused very late is sent whole", () => {
  const client = createClient();
  client.put(route("80", { a: "a" }));
  client.ask(RDS, { subscribe: ["80"] });
  client.settle();
  client.put(route("80", { a: "bad", b: "b" }));
  const [first] = client.responses();
  client.put(route("80", { a: "good", b: "b" }));
  expect(client.responses()).toEqual([]);
  client.advance(5000);
  const [second] = client.responses();
  if (!first || !second) throw new Error("no response");
  expect([first, second].map(show)).toEqual(["VHDS 80/a 80/b", "VHDS 80/a"]);
  client.answer(first, "bad host");
  client.answer(second);
  expect(client.settle()).toEqual(["RDS 80", "VHDS 80/a 80/b"]);
});

describe("hosts of one name, as patches may add them,", () => {
  const named = (...hosts: readonly (readonly [name: string, domain: string])[]): Resource => {
    const virtualHosts = hosts.map(([name, domain]) => ({ name, domains: [domain] }));
    return resource(
      "80",
      toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { name: "80", virtualHosts })),
    );
  };

  test("have each a name of its own, also where somebody has that already", () => {
    const client = createClient();
    client.put(named(["same~2", "a"], ["same", "b"], ["same", "c"], ["sa/me", "d"], ["sa_me", "e"]));
    client.ask(RDS, { subscribe: ["80"] });
    expect(client.settle()).toEqual(["RDS 80", "VHDS 80/same~2 80/same 80/same~3 80/sa_me 80/sa_me~2"]);
  });

  test("come and go on a route that is there", () => {
    const client = createClient();
    client.put(named(["same", "a"]));
    client.ask(RDS, { subscribe: ["80"] });
    client.settle();
    client.put(named(["same", "a"], ["same", "b"]));
    expect(client.settle()).toEqual(["VHDS 80/same~2"]);
    client.put(named(["same", "b"]));
    expect(client.settle()).toEqual(["VHDS 80/same -80/same~2"]);
  });

  test("are taken apart in time that grows with their number", () => {
    const hosts = Array.from({ length: 20_000 }, (_, i) => ["same", `d${i}`] as const);
    const parts = splitRoute(named(...hosts));
    expect(new Set(parts.hosts.map(({ name }) => name)).size).toBe(hosts.length);
  });
});

test("a host that names a new cluster waits for it", () => {
  const client = createClient();
  client.put(route("80", { a: "a" }));
  client.ask(CDS, {});
  client.ask(RDS, { subscribe: ["80"] });
  client.settle();
  client.source.set({ [CDS]: [resource("c", "c")], [RDS]: [route("80", { a: "a", b: "b" }, ["c"])] });
  const [cds, ...others] = client.responses();
  expect(others).toEqual([]);
  expect(cds && show(cds)).toBe("CDS c");
  if (cds) client.answer(cds);
  expect(client.settle()).toEqual(["VHDS 80/b"]);
});

test("what a client says to hold is taken once", () => {
  const client = createClient();
  client.put(route("80", { a: "a" }));
  client.ask(RDS, { subscribe: ["80"] });
  client.ask(virtualHostType, {});
  client.settle();
  for (let i = 0; i < 100; i++) client.ask(virtualHostType, { initial: new Map([[`80/${i}`, "1"]]) });
  expect(client.responses().map(show)).toEqual([]);
});

test("a client that was busy for very long: what it asks for with its answers counts, what it refuses is sent anew", () => {
  const client = createClient();
  client.put(route("80", { a: "0" }), route("90", {}));
  client.ask(RDS, { subscribe: ["80"] });
  const [configuration, hosts] = client.responses();
  if (!configuration || !hosts) throw new Error("no response");
  const late = Array.from({ length: 20 }, (_, i) => {
    client.put(route("80", { a: `${i + 1}` }), route("90", {}));
    expect(client.responses()).toEqual([]);
    client.advance(5000);
    return client.responses();
  }).flat();
  expect(late.map(show)).toEqual(Array.from({ length: 20 }, () => "VHDS 80/a"));
  client.ask(RDS, { nonce: configuration.nonce, subscribe: ["90"] });
  client.answer(hosts, "too busy");
  for (const response of late) client.answer(response);
  expect(client.settle().sort()).toEqual(["RDS 80", "RDS 90", "VHDS -90/~none", "VHDS 80/a"]);
});

test("of what is said of many parts no more is kept than of one, and each is heard", () => {
  const client = createClient();
  const names = Array.from({ length: 20 }, (_, i) => `${8000 + i}`);
  client.put(...names.map((name) => route(name, { a: "a" })));
  client.ask(RDS, { subscribe: names });
  for (const response of client.responses()) client.answer(response, "x".repeat(4096));
  const [state] = client.state.states();
  const words = state?.refusals?.lastError ?? "";
  expect(words).toHaveLength(4096);
  expect(names.filter((name) => words.includes(`${name}: x`))).toHaveLength(20);
});
