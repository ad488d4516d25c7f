import { beforeEach, describe, expect, test } from "vitest";
import { bytesOf, type Resource, type ResourceType, types } from "../../model/index.ts";
import { createMemorySource, type MemorySource, resource, silentNode } from "../testing.ts";
import type { Held } from "./hold-back.ts";
import { createNamePool } from "./names.ts";
import type { Received } from "./request.ts";
import { createSteps } from "./steps.ts";
import { createStreamState, type Response, type StreamState } from "./stream-state.ts";
import { createVersions } from "./version.ts";

const { cluster: CDS, endpoint: EDS, listener: LDS, route: RDS } = types;

/** One client over either variant: what is asked, answered and held is said in the same words. */
function createClient(variant: "sotw" | "delta", source: MemorySource, drainMs = 0, clockMs?: () => number) {
  const ended: Held[] = [];
  let nowMs = 1000;
  let n = 0;
  const session = source.connect(silentNode, undefined, (news) => state.changed(news));
  const state: StreamState = createStreamState({
    variant,
    session,
    versions: createVersions({ now: () => new Date(0), uuid: () => `-${++n}` }),
    steps: createSteps(),
    pool: createNamePool(),
    times: { maxWaitMs: 5000, drainMs },
    onHeldBack: (held) => ended.push(held),
    ...(clockMs ? { clockMs } : {}),
  });
  const names = new Map<ResourceType, string[]>();
  const last = new Map<ResourceType, string>();

  const send = (
    type: ResourceType,
    request: {
      nonce?: string;
      error?: string;
      subscribe?: string[];
      unsubscribe?: string[];
      version?: string;
      initial?: Map<string, string>;
    },
  ): Received => {
    const nonce = request.nonce ?? "";
    const error = request.error === undefined ? {} : { error: request.error };
    if (variant === "sotw")
      return state.receiveSotw(
        { type, names: names.get(type) ?? [], nonce, version: request.version ?? "", ...error },
        nowMs,
      );
    return state.receiveDelta(
      {
        type,
        subscribe: request.subscribe ?? [],
        unsubscribe: request.unsubscribe ?? [],
        initial: request.initial ?? new Map(),
        nonce,
        ...error,
      },
      nowMs,
    );
  };

  return {
    state,
    ended,
    send,
    advance: (ms: number) => {
      nowMs += ms;
      state.wake();
    },
    subscribe(type: ResourceType, ...wanted: string[]) {
      names.set(type, [...(names.get(type) ?? []), ...wanted]);
      return send(type, { subscribe: wanted, nonce: variant === "sotw" ? (last.get(type) ?? "") : "" });
    },
    unsubscribe(type: ResourceType, ...gone: string[]) {
      names.set(
        type,
        (names.get(type) ?? []).filter((name) => !gone.includes(name)),
      );
      return send(type, { unsubscribe: gone, nonce: variant === "sotw" ? (last.get(type) ?? "") : "" });
    },
    ack: (response: Response | undefined) =>
      response && send(response.type, { nonce: response.nonce, version: response.version }),
    nack: (response: Response | undefined, error: string) =>
      response && send(response.type, { nonce: response.nonce, error }),
    next(): Response | undefined {
      const response = state.next(nowMs);
      if (response) last.set(response.type, response.nonce);
      return response;
    },
    /** All responses that go out without another word of the client, as `CDS a,b -c`. */
    flush(): string[] {
      const out: string[] = [];
      for (let response = this.next(); response; response = this.next()) out.push(show(response));
      return out;
    },
    /** The same, acknowledged one by one as they come. */
    settle(): string[] {
      const out: string[] = [];
      for (let response = this.next(); response; response = this.next()) {
        out.push(show(response));
        this.ack(response);
      }
      return out;
    },
  };
}

const short = new Map<string, string>([
  [CDS, "CDS"],
  [EDS, "EDS"],
  [LDS, "LDS"],
  [RDS, "RDS"],
  [types.secret, "SDS"],
]);
const show = (response: Response): string =>
  [
    short.get(response.type),
    response.resources.map((one) => one.name).join(","),
    ...response.removed.map((name) => `-${name}`),
  ]
    .filter((part) => part !== "")
    .join(" ");

const cluster = (name: string, content = name) => resource(name, content, [name]);
const plain = (name: string) => resource(name, name);
const endpoints = (name: string, content = name) => resource(name, content);
const route = (name: string, ...clusters: string[]) => resource(name, `${name}>${clusters.join()}`, clusters);

describe.each(["sotw", "delta"] as const)("%s", (variant) => {
  const delta = variant === "delta";
  let source: MemorySource;
  let client: ReturnType<typeof createClient>;
  beforeEach(() => {
    source = createMemorySource();
    source.set({
      [CDS]: [cluster("a"), cluster("b")],
      [EDS]: [endpoints("a"), endpoints("b")],
      [LDS]: [resource("l", "l")],
      [RDS]: [route("r", "a")],
    });
    client = createClient(variant, source);
  });

  test("no names mean all for clusters and listeners, nothing for endpoints and routes", () => {
    client.send(CDS, {});
    client.send(LDS, {});
    client.send(EDS, {});
    client.send(RDS, {});
    expect(client.settle()).toEqual(["CDS a,b", "LDS l"]);
  });

  test("names that take long to look up are answered in parts, what changes meanwhile with its last version", () => {
    const all = Array.from({ length: 300 }, (_, i) => `e${i}`);
    const there = all.filter((_, i) => i % 2 === 0);
    source.set({ [EDS]: there.map((name) => endpoints(name)) });
    let ms = 0;
    const slow = createClient(variant, source, 0, () => (ms += 15));
    slow.subscribe(EDS, ...all);
    const first = slow.next();
    expect(first?.resources.length).toBeLessThan(100);
    expect(slow.state.pending()).toBe(true);
    slow.ack(first);
    source.set({ [EDS]: there.map((name) => endpoints(name, `${name} changed`)) });
    const last = new Map<string, string>();
    const missing = [...(first?.removed ?? [])];
    while (slow.state.pending()) {
      const response = slow.next();
      for (const one of response?.resources ?? []) last.set(one.name, Buffer.from(bytesOf(one)).toString());
      missing.push(...(response?.removed ?? []));
      slow.ack(response);
    }
    expect([...last].sort()).toEqual(there.map((name) => [name, `${name} changed`]).sort());
    expect(missing.sort()).toEqual(delta ? all.filter((_, i) => i % 2 === 1).sort() : []);
  });

  test("an ACK is not answered, and nothing is sent twice", () => {
    client.subscribe(CDS);
    expect(client.settle()).toEqual(["CDS a,b"]);
    source.set({ [CDS]: [cluster("a"), cluster("b")] });
    expect(client.settle()).toEqual([]);
  });

  test("a change is sent to who asked for it, in the order of dependence", () => {
    client.subscribe(RDS, "r");
    client.subscribe(LDS);
    client.subscribe(EDS, "a");
    client.subscribe(CDS);
    expect(client.settle().map((shown) => shown.slice(0, 3))).toEqual(["CDS", "EDS", "LDS", "RDS"]);
    source.set({ [EDS]: [endpoints("a", "a2"), endpoints("b", "b2")] });
    expect(client.settle()).toEqual(["EDS a"]);
  });

  test("a whole set is told in state of the world, a difference in delta", () => {
    client.subscribe(CDS);
    client.settle();
    source.set({ [CDS]: [cluster("a"), cluster("b", "b2"), cluster("c")] });
    expect(client.settle()).toEqual([delta ? "CDS b,c" : "CDS a,b,c"]);
    source.set({ [CDS]: [cluster("a")] });
    expect(client.settle()).toEqual([delta ? "CDS -b -c" : "CDS a"]);
  });

  test("added names are answered, known ones are not repeated; dropped names are not sent any more", () => {
    client.subscribe(EDS, "a");
    expect(client.settle()).toEqual(["EDS a"]);
    client.subscribe(EDS, "b");
    expect(client.settle()).toEqual(["EDS b"]);
    client.unsubscribe(EDS, "a");
    source.set({ [EDS]: [endpoints("a", "a2"), endpoints("b", "b2")] });
    expect(client.settle()).toEqual(["EDS b"]);
    client.unsubscribe(EDS, "b");
    source.set({ [EDS]: [endpoints("a", "a3"), endpoints("b", "b3")] });
    expect(client.settle()).toEqual([]);
  });

  test("a name that does not exist is answered, and sent when it comes", () => {
    client.subscribe(EDS, "x");
    expect(client.settle()).toEqual([delta ? "EDS -x" : "EDS"]);
    source.set({ [EDS]: [endpoints("a"), endpoints("x")] });
    expect(client.settle()).toEqual(["EDS x"]);
  });

  test("a nonce that was never sent changes nothing", () => {
    client.subscribe(EDS, "a");
    const response = client.next();
    expect(client.send(EDS, { nonce: "made up", subscribe: ["b"], unsubscribe: ["a"] })).toEqual({
      event: "stale",
      dirty: false,
    });
    expect(client.flush()).toEqual([]);
    expect([...client.state.states()][0]).toMatchObject({ ackedNonce: "", nonce: response?.nonce });
    expect(client.ack(response)).toMatchObject({ event: "ack" });
  });

  test("a NACK is remembered, not answered, and ends with the next ACK", () => {
    client.subscribe(CDS);
    const bad = client.next();
    expect(client.nack(bad, "Error adding/updating cluster(s) a: no")).toMatchObject({ event: "nack" });
    expect(client.flush()).toEqual([]);
    const [state] = client.state.states();
    expect(state).toMatchObject({ refusals: { lastError: "Error adding/updating cluster(s) a: no" }, ackedNonce: "" });
    expect(state?.accepted("a")).toBeUndefined();
    expect(state?.accepted("b")).toBeDefined();
    source.set({ [CDS]: [cluster("a", "better"), cluster("b")] });
    expect(client.settle()).toEqual([delta ? "CDS a" : "CDS a,b"]);
    expect(state).toMatchObject({ refusals: { lastError: "" } });
  });

  test("of a name that the client gives up it is not remembered that it refused it", () => {
    client.subscribe(EDS, "a", "b");
    client.nack(client.next(), "neither a nor b");
    const [state] = client.state.states();
    expect([...(state?.refusals?.names() ?? [])]).toEqual(["a", "b"]);
    client.unsubscribe(EDS, "a");
    expect([...(state?.refusals?.names() ?? [])]).toEqual(["b"]);
  });

  test("a slow client gets the latest state once", () => {
    client.subscribe(EDS, "a");
    client.settle();
    for (let i = 0; i < 100; i++) source.set({ [EDS]: [endpoints("a", `v${i}`)] });
    const response = client.next();
    expect(response?.resources.map((one) => new TextDecoder().decode(bytesOf(one)))).toEqual(["v99"]);
    expect(client.flush()).toEqual([]);
  });

  test("a cluster that changes needs its endpoints again to become warm", () => {
    client.subscribe(CDS);
    client.subscribe(EDS, "a", "b");
    client.settle();
    source.set({ [CDS]: [cluster("a", "a2"), cluster("b")] });
    expect(client.settle()).toEqual([delta ? "CDS a" : "CDS a,b", "EDS a"]);
  });

  test("a cluster that changes gets its endpoints also while a refusal of others is looked into", () => {
    const others = (content: string) => [endpoints("x", content), endpoints("y", content)];
    source.set({ [EDS]: [endpoints("a"), endpoints("b"), ...others("1")] });
    client.subscribe(CDS);
    client.subscribe(EDS, "a", "b", "x", "y");
    client.settle();
    source.set({ [EDS]: [endpoints("a"), endpoints("b"), ...others("2")] });
    const refused = client.next();
    source.set({ [CDS]: [cluster("a", "a2"), cluster("b")] });
    client.ack(client.next());
    client.nack(refused, "something is wrong");
    expect(client.settle()).toEqual(["EDS x", "EDS y", "EDS a"]);
  });

  test("endpoints that were sent again beside something that is refused are sent once more", () => {
    client.subscribe(CDS);
    client.subscribe(EDS, "a", "b");
    client.settle();
    source.set({ [CDS]: [cluster("a", "a2"), cluster("b")], [EDS]: [endpoints("a"), endpoints("b", "b2")] });
    client.ack(client.next());
    client.nack(client.next(), "something is wrong");
    expect(client.flush()).toEqual(["EDS a"]);
  });

  describe("make before break", () => {
    beforeEach(() => {
      client.subscribe(CDS);
      client.subscribe(EDS, "a", "b");
      client.subscribe(LDS);
      client.subscribe(RDS, "r");
      client.settle();
    });
    const flip = () =>
      source.set({
        [CDS]: [cluster("b"), cluster("c")],
        [EDS]: [endpoints("b"), endpoints("c")],
        [RDS]: [route("r", "c")],
      });

    test("a route waits for its new cluster and the cluster's endpoints, the old cluster for the route", () => {
      flip();
      const made = client.next();
      expect(show(made as Response)).toBe(delta ? "CDS c" : "CDS b,c,a");
      expect(client.flush()).toEqual([]);
      client.subscribe(EDS, "c");
      const warm = client.next();
      expect(warm && show(warm)).toBe("EDS c");
      client.ack(made);
      expect(client.flush()).toEqual([]);
      client.ack(warm);
      const turned = client.next();
      expect(turned && show(turned)).toBe("RDS r");
      expect(client.flush()).toEqual([]);
      client.ack(turned);
      expect(client.settle()).toEqual(delta ? ["CDS -a", "EDS -a"] : ["CDS b,c"]);
      expect(client.state.held()).toEqual([]);
      expect(client.state.wakeAtMs()).toBeUndefined();
    });

    test("a cluster that goes a moment before its route is kept for it, but not for long", () => {
      source.set({ [CDS]: [cluster("b")], [EDS]: [endpoints("b")] });
      expect(client.settle()).toEqual([]);
      source.set({ [RDS]: [route("r", "b")] });
      expect(client.settle()).toEqual(delta ? ["RDS r", "CDS -a", "EDS -a"] : ["RDS r", "CDS b"]);
      source.set({ [CDS]: [], [EDS]: [] });
      expect(client.settle()).toEqual([]);
      client.advance(5000);
      expect(client.settle()).toEqual(delta ? ["CDS -b", "EDS -b"] : ["CDS"]);
      expect(client.state.wakeAtMs()).toBeUndefined();
    });

    describe("draining", () => {
      beforeEach(() => {
        client = createClient(variant, source, 3000);
        client.subscribe(CDS);
        client.subscribe(EDS, "a", "b");
        client.subscribe(LDS);
        client.subscribe(RDS, "r");
        client.settle();
      });
      const toB = () => source.set({ [RDS]: [route("r", "b")] });
      const withoutA = () => source.set({ [CDS]: [cluster("b")], [EDS]: [endpoints("b")] });
      const gone = delta ? ["CDS -a", "EDS -a"] : ["CDS b"];

      test("a cluster that nothing names any more stays for requests that are under way, with its endpoints", () => {
        toB();
        expect(client.settle()).toEqual(["RDS r"]);
        withoutA();
        expect(client.settle()).toEqual([]);
        client.advance(2999);
        expect(client.settle()).toEqual([]);
        expect(client.state.wakeAtMs()).toBeDefined();
        client.advance(1);
        expect(client.settle()).toEqual(gone);
        expect(client.state.wakeAtMs()).toBeUndefined();
      });

      test("the time runs from when the last route has let go", () => {
        toB();
        const turned = client.next();
        withoutA();
        client.advance(4000);
        expect(client.flush()).toEqual([]);
        client.ack(turned);
        expect(client.settle()).toEqual([]);
        client.advance(2999);
        expect(client.settle()).toEqual([]);
        client.advance(1);
        expect(client.settle()).toEqual(gone);
      });

      test("a cluster that comes back meanwhile was never away", () => {
        toB();
        withoutA();
        client.settle();
        source.set({
          [CDS]: [cluster("a"), cluster("b")],
          [EDS]: [endpoints("a"), endpoints("b")],
          [RDS]: [route("r", "a")],
        });
        expect(client.settle()).toEqual(["RDS r"]);
        client.advance(10_000);
        expect(client.settle()).toEqual([]);
      });

      test("its endpoints are not said to be missing when they are asked for again", () => {
        toB();
        withoutA();
        client.settle();
        client.unsubscribe(EDS, "a");
        client.subscribe(EDS, "a");
        expect(client.settle().join()).not.toContain("-a");
        client.advance(3000);
        expect(client.settle()).toEqual(gone);
      });
    });

    test("a cluster that goes and comes back at once is waited for like a new one", () => {
      source.set({ [RDS]: [route("r", "b")] });
      client.settle();
      source.set({ [CDS]: [cluster("b")], [EDS]: [endpoints("b")] });
      const removed = client.next();
      source.set({
        [CDS]: [cluster("a"), cluster("b")],
        [EDS]: [endpoints("a"), endpoints("b")],
        [RDS]: [route("r", "a")],
      });
      const back = [client.next(), client.next()];
      expect(back.map((response) => response && show(response))).toEqual([delta ? "CDS a" : "CDS a,b", "EDS a"]);
      expect(client.flush()).toEqual([]);
      for (const response of [removed, ...back]) client.ack(response);
      expect(client.settle()).toEqual(["RDS r"]);
    });

    test("other routes do not wait", () => {
      client.subscribe(RDS, "other");
      client.settle();
      source.set({ [CDS]: [cluster("a"), cluster("b"), cluster("c")], [RDS]: [route("r", "c"), route("other", "b")] });
      expect(client.flush()).toEqual([delta ? "CDS c" : "CDS a,b,c", "RDS other"]);
      expect(client.state.held()).toMatchObject([{ name: "r", clusters: ["c"], ended: false }]);
    });

    test("a NACK of the cluster holds back the route alone, and the old one stays with its cluster", () => {
      flip();
      client.nack(client.next(), "Error adding/updating cluster(s) c: bad");
      expect(client.flush()).toEqual([]);
      expect(client.ended).toMatchObject([{ type: RDS, name: "r", clusters: ["c"], ended: true }]);
      source.set({ [LDS]: [resource("l", "l2")] });
      expect(client.settle()).toEqual(["LDS l"]);
      expect(client.ended).toHaveLength(1);
    });

    test("five seconds hold back the route alone; a late answer still frees it", () => {
      flip();
      const made = client.next();
      client.subscribe(EDS, "c");
      const warm = client.next();
      client.flush();
      expect(client.state.wakeAtMs()).toBe(6000);
      client.advance(5000);
      expect(client.flush()).toEqual([]);
      expect(client.ended).toHaveLength(1);
      client.ack(warm);
      client.ack(made);
      expect(client.settle()[0]).toBe("RDS r");
    });

    test("endpoints acknowledged prove the cluster when another one keeps Envoy from its ACK", () => {
      flip();
      client.next();
      client.subscribe(EDS, "c");
      client.ack(client.next());
      expect(client.flush()).toEqual([]);
      client.advance(5000);
      expect(client.flush()).toEqual(["RDS r"]);
      expect(client.ended).toEqual([]);
    });

    test("a route that names a cluster which nobody makes waits a moment only, in case it is about to be made", () => {
      source.set({ [RDS]: [route("r", "nowhere")] });
      expect(client.flush()).toEqual([]);
      expect(client.state.wakeAtMs()).toBe(6000);
      client.advance(5000);
      expect(client.flush()).toEqual(["RDS r"]);
      expect(client.ended).toEqual([]);
    });

    test("a route that is read before its cluster still comes after it", () => {
      source.set({ [RDS]: [route("r", "dns")] });
      expect(client.flush()).toEqual([]);
      source.set({ [CDS]: [cluster("a"), cluster("b"), plain("dns")] });
      const made = client.next();
      expect(client.flush()).toEqual([]);
      client.ack(made);
      expect(client.flush()).toEqual(["RDS r"]);
    });

    test("a cluster without endpoints of its own waits for its ACK only", () => {
      source.set({ [CDS]: [cluster("a"), cluster("b"), plain("dns")], [RDS]: [route("r", "dns")] });
      client.ack(client.next());
      expect(client.flush()).toEqual(["RDS r"]);
    });

    test("a new listener waits; a removed one frees its cluster when that is accepted", () => {
      source.set({
        [CDS]: [cluster("a"), cluster("b"), plain("c")],
        [LDS]: [resource("l", "l"), resource("tcp", "tcp", ["c"])],
      });
      const made = client.next();
      expect(client.flush()).toEqual([]);
      client.ack(made);
      expect(client.settle()).toEqual([delta ? "LDS tcp" : "LDS l,tcp"]);
      source.set({ [CDS]: [cluster("a"), cluster("b")], [LDS]: [resource("l", "l")] });
      const gone = client.next();
      expect(gone && show(gone)).toBe(delta ? "LDS -tcp" : "LDS l");
      expect(client.flush()).toEqual([]);
      client.ack(gone);
      expect(client.settle()).toEqual([delta ? "CDS -c" : "CDS a,b"]);
    });

    test("a route that the client refuses keeps its old cluster alive", () => {
      source.set({ [CDS]: [cluster("b")], [RDS]: [route("r", "b")] });
      const turned = client.next();
      expect(turned && show(turned)).toBe("RDS r");
      client.nack(turned, "bad route");
      client.advance(60_000);
      expect(client.flush()).toEqual([]);
    });

    test("a client that says nothing of a route keeps the old cluster for five seconds, not for ever", () => {
      source.set({ [CDS]: [cluster("b")], [RDS]: [route("r", "b")] });
      expect(client.flush()).toEqual(["RDS r"]);
      expect(client.state.wakeAtMs()).toBe(6000);
      client.advance(5000);
      expect(client.flush()).toEqual([delta ? "CDS -a" : "CDS b"]);
    });
  });

  test("a stream that does not follow all clusters is pushed in plain order", () => {
    client.subscribe(LDS);
    client.subscribe(RDS, "r");
    client.subscribe(CDS, "a");
    client.settle();
    source.set({ [CDS]: [cluster("a"), cluster("c")], [RDS]: [route("r", "c")] });
    expect(client.flush()).toEqual(["RDS r"]);
  });

  test("a fresh client is not made to wait for its own first ACKs", () => {
    client.subscribe(CDS);
    client.subscribe(RDS, "r");
    expect(client.flush()).toEqual(["CDS a,b", "RDS r"]);
  });
});

test("delta: what a client asks for in an answer that comes very late counts", () => {
  const source = createMemorySource();
  source.set({ [EDS]: [endpoints("a"), endpoints("b")] });
  const client = createClient("delta", source);
  client.subscribe(EDS, "a");
  const first = client.next();
  for (let i = 0; i < 40; i++) {
    source.set({ [EDS]: [endpoints("a", `a${i}`), endpoints("b")] });
    expect(client.next()).toBeDefined();
  }
  client.send(EDS, { nonce: first?.nonce ?? "", subscribe: ["b"] });
  expect(client.flush()).toEqual(["EDS b"]);
});

describe("sotw", () => {
  test("a request with a superseded nonce is stale; its names do not count", () => {
    const source = createMemorySource();
    source.set({ [EDS]: [endpoints("a"), endpoints("b")] });
    const client = createClient("sotw", source);
    client.subscribe(EDS, "a");
    const first = client.next();
    source.set({ [EDS]: [endpoints("a", "a2"), endpoints("b")] });
    const second = client.next();
    expect(client.state.receiveSotw({ type: EDS, names: ["b"], nonce: first?.nonce ?? "", version: "" }, 0)).toEqual({
      event: "stale",
      dirty: false,
    });
    expect(client.flush()).toEqual([]);
    expect(client.ack(second)).toMatchObject({ event: "ack" });
  });

  test("a refused resource is left out of later whole sets; its last good version stays", () => {
    const source = createMemorySource();
    source.set({ [CDS]: [plain("a"), plain("b")] });
    const client = createClient("sotw", source);
    client.subscribe(CDS);
    client.settle();
    source.set({ [CDS]: [resource("a", "bad"), plain("b"), resource("n", "bad too")] });
    client.nack(client.next(), "Error adding/updating cluster(s) a: x, n: y");
    source.set({ [CDS]: [resource("a", "bad"), resource("b", "b2"), resource("n", "bad too")] });
    const response = client.next();
    expect(response?.resources.map((one) => new TextDecoder().decode(bytesOf(one)))).toEqual(["a", "b2"]);
    client.ack(response);
    source.set({ [CDS]: [resource("a", "good"), resource("b", "b2"), resource("n", "bad too")] });
    expect(client.next()?.resources.map((one) => new TextDecoder().decode(bytesOf(one)))).toEqual(["good", "b2"]);
  });

  test("who answers a whole set has answered those before it, as Envoy leaves answers out while a cluster warms", () => {
    const source = createMemorySource();
    source.set({ [CDS]: [plain("a")] });
    const client = createClient("sotw", source);
    client.subscribe(CDS);
    client.settle();
    const state = client.state.state(CDS);
    const sendTwo = (...names: string[]): Response | undefined => {
      source.set({ [CDS]: names.slice(0, -1).map(plain) });
      client.next();
      source.set({ [CDS]: names.map(plain) });
      return client.next();
    };
    client.ack(sendTwo("a", "b", "c"));
    expect(state?.isSettled).toBe(true);
    expect(["b", "c"].map((name) => state?.accepted(name)?.name)).toEqual(["b", "c"]);
    client.nack(sendTwo("a", "d", "e"), "Error adding/updating cluster(s) d: no");
    expect(state?.isSettled).toBe(true);
    expect(["b", "c", "d", "e"].map((name) => state?.accepted(name)?.name)).toEqual([
      undefined,
      undefined,
      undefined,
      "e",
    ]);
    expect(state?.refusals?.wordsOf("d")).toContain("no");
    // What is refused of two sets may be in either.
    client.nack(sendTwo("a", "f", "g"), "no");
    expect(client.settle()).toEqual(["CDS a", "CDS a,f", "CDS a,f,g"]);
  });

  test("what is said of one cluster among several is told of that one", () => {
    const source = createMemorySource();
    source.set({ [CDS]: ["a", "b", "c"].map(plain) });
    const client = createClient("sotw", source);
    client.subscribe(CDS);
    client.nack(client.next(), "Error adding/updating cluster(s) a: no, never, b: too small: 1, c: x");
    const state = client.state.state(CDS);
    expect(["a", "b", "c"].map((name) => state?.refusals?.wordsOf(name))).toEqual([
      "Error adding/updating cluster(s) a: no, never",
      "b: too small: 1",
      "c: x",
    ]);
  });

  describe("a set that was on its way when a member was refused by name", () => {
    const start = (type: ResourceType) => {
      const source = createMemorySource();
      source.set({ [type]: [plain("a")] });
      const client = createClient("sotw", source);
      client.subscribe(type);
      client.settle();
      source.set({ [type]: [plain("a"), plain("ring")] });
      const first = client.next();
      source.set({ [type]: [plain("a"), plain("ring"), plain("b")] });
      const second = client.next();
      const kind = type === CDS ? "cluster" : "listener";
      client.nack(first, `Error adding/updating ${kind}(s) ring: too small`);
      return { source, client, second };
    };

    test.each([
      ["taken", undefined],
      ["refused for another", "Error adding/updating cluster(s) b: no"],
    ])("says nothing of a cluster, which Envoy passes over the second time: %s", (_, error) => {
      const { source, client, second } = start(CDS);
      // Envoy may answer nothing until it is taken out.
      const third = client.next();
      expect(third && show(third)).toBe("CDS a,b");
      if (error === undefined) client.ack(second);
      else client.nack(second, error);
      const state = client.state.state(CDS);
      expect(state?.accepted("ring")).toBeUndefined();
      expect(state?.refusals?.wordsOf("ring")).toContain("too small");
      client.ack(third);
      client.settle();
      expect(state?.refusals?.wordsOf("ring")).toContain("too small");
      expect(state?.isSettled).toBe(true);
      // Once it has gone Envoy looks at it when it comes again.
      source.set({ [CDS]: [plain("a")] });
      client.settle();
      source.set({ [CDS]: [plain("a"), plain("ring")] });
      expect(client.settle()).toEqual(["CDS a,ring"]);
      expect(state?.accepted("ring")).toBeDefined();
      expect(state?.refuses).toBe(false);
    });

    test("says that a listener was taken the second time", () => {
      const { client, second } = start(LDS);
      client.ack(second);
      expect(client.state.state(LDS)?.accepted("ring")).toBeDefined();
      expect(client.state.state(LDS)?.refuses).toBe(false);
    });
  });

  test("after a reconnect routes wait for clusters, but not for ever", () => {
    const source = createMemorySource();
    source.set({
      [CDS]: [cluster("a")],
      [EDS]: [endpoints("a")],
      [LDS]: [resource("l", "l", ["a"])],
      [RDS]: [route("r", "a")],
    });
    const client = createClient("sotw", source);
    client.send(CDS, { version: "1" });
    client.state.receiveSotw({ type: LDS, names: [], nonce: "", version: "1" }, 1000);
    client.state.receiveSotw({ type: RDS, names: ["r"], nonce: "", version: "1" }, 1000);
    const clusters = client.next();
    expect(clusters && show(clusters)).toBe("CDS a");
    expect(client.flush().filter((shown) => shown !== "RDS")).toEqual([]);
    client.advance(5000);
    expect(client.flush()).toEqual(["LDS l", "RDS r"]);
  });

  test("after a reconnect listeners whose waits begin one after the other are sent when the first wait ends", () => {
    const source = createMemorySource();
    const listener = (name: string, ...clusters: string[]) => resource(name, name, clusters);
    const put = (listeners: readonly Resource[]): void =>
      source.set({ [CDS]: [cluster("a"), cluster("b")], [EDS]: [endpoints("a"), endpoints("b")], [LDS]: listeners });
    put([listener("l", "a")]);
    const client = createClient("sotw", source);
    client.send(CDS, { version: "1" });
    client.send(LDS, { version: "1" });
    expect(client.flush()).toEqual(["CDS a,b"]);
    client.advance(3000);
    put([listener("l", "a"), listener("m", "b")]);
    expect(client.flush()).toEqual([]);
    client.advance(2000);
    expect(client.flush()).toEqual(["LDS l,m"]);
  });

  test("a client that starts over is not sent the same nonce for something else", () => {
    const source = createMemorySource();
    source.set({ [EDS]: [endpoints("a"), endpoints("b")] });
    const client = createClient("sotw", source);
    client.subscribe(EDS, "a");
    const first = client.next();
    client.send(EDS, { nonce: "" });
    client.send(EDS, { nonce: "" });
    const second = client.next();
    expect(second && show(second)).toBe("EDS a");
    expect(second?.nonce).not.toBe(first?.nonce);
    expect(client.ack(first)?.event).toBe("stale");
  });

  test("no names after some names is the end of the subscription, also for clusters", () => {
    const source = createMemorySource();
    source.set({ [CDS]: [cluster("a"), cluster("b")] });
    const client = createClient("sotw", source);
    client.subscribe(CDS, "a");
    const response = client.next();
    client.ack(response);
    expect(
      client.state.receiveSotw({ type: CDS, names: [], nonce: response?.nonce ?? "", version: "" }, 0),
    ).toMatchObject({ event: "unsubscribe" });
    source.set({ [CDS]: [cluster("a", "a2")] });
    expect(client.flush()).toEqual([]);
  });
});

describe("delta", () => {
  const source = createMemorySource();
  let client: ReturnType<typeof createClient>;
  beforeEach(() => {
    source.set({
      [CDS]: [cluster("a"), cluster("b")],
      [EDS]: [endpoints("a"), endpoints("b")],
      [LDS]: [],
      [RDS]: [route("r", "a")],
    });
    client = createClient("delta", source);
  });

  test("a reconnect sends what differs and what has gone, in the first response", () => {
    const initial = new Map([
      ["a", cluster("a").hash],
      ["b", "old"],
      ["gone", "x"],
    ]);
    client.send(LDS, { initial: new Map() });
    client.send(RDS, { subscribe: ["r"] });
    client.settle();
    client.send(CDS, { initial });
    expect(client.settle()).toEqual(["CDS b -gone"]);
    source.set({ [CDS]: [cluster("a"), cluster("b", "b2")] });
    expect(client.settle()).toEqual(["CDS b"]);
  });

  test("a reconnect with everything up to date gets an empty answer", () => {
    client.send(CDS, {
      subscribe: ["*"],
      initial: new Map([
        ["a", cluster("a").hash],
        ["b", cluster("b").hash],
      ]),
    });
    expect(client.settle()).toEqual(["CDS"]);
  });

  describe("endpoints that a client has from before", () => {
    const resumed = (type: ResourceType, held: readonly string[], subscribe: string[] = []) =>
      client.send(type, { subscribe, initial: new Map(held.map((name) => [name, endpoints(name).hash])) });

    test("are not sent again where nothing has changed", () => {
      client.send(CDS, { initial: new Map(Object.entries({ a: cluster("a").hash, b: cluster("b").hash })) });
      resumed(EDS, ["a", "b"], ["a", "b"]);
      expect(client.settle()).toEqual(["CDS", "EDS"]);
    });

    test("are all sent again where it asks for clusters later, as Envoy does while one waits for endpoints", () => {
      resumed(EDS, ["a", "b"], ["a", "b"]);
      expect(client.settle()).toEqual(["EDS a,b"]);
      client.send(CDS, { initial: new Map(Object.entries({ a: cluster("a").hash, b: cluster("b").hash })) });
      expect(client.settle()).toEqual(["CDS"]);
    });

    test.each([true, false])("follow a cluster that has changed, also if asked for after it: %s", (isAfter) => {
      client.send(CDS, { initial: new Map(Object.entries({ a: "old", b: cluster("b").hash })) });
      if (isAfter) expect(client.settle()).toEqual(["CDS a"]);
      resumed(EDS, ["a", "b"], ["a", "b"]);
      expect(client.settle()).toEqual(isAfter ? ["EDS a"] : ["CDS a", "EDS a"]);
    });

    test("do not follow a cluster that has gone again before they are asked for", () => {
      client.send(CDS, { initial: new Map(Object.entries({ a: "old", b: cluster("b").hash })) });
      expect(client.settle()).toEqual(["CDS a"]);
      source.set({ [CDS]: [cluster("b")] });
      expect(client.settle()).toEqual(["CDS -a"]);
      resumed(EDS, ["a", "b"], ["a", "b"]);
      expect(client.settle()).toEqual(["EDS"]);
    });

    test("follow all clusters where the client claims none of these", () => {
      client.send(CDS, {});
      expect(client.settle()).toEqual(["CDS a,b"]);
      resumed(EDS, ["a", "b"], ["a", "b"]);
      expect(client.settle()).toEqual(["EDS a,b"]);
    });
  });

  test("after a reconnect a removed cluster waits for routes of which it is not known what they name", () => {
    client.send(CDS, {
      initial: new Map([
        ["a", cluster("a").hash],
        ["gone", "x"],
      ]),
    });
    expect(client.settle()).toEqual([]);
    client.send(LDS, { initial: new Map() });
    client.send(RDS, { subscribe: ["r"], initial: new Map([["r", "old"]]) });
    expect(client.settle()).toEqual(["CDS b", "LDS", "RDS r", "CDS -gone"]);
  });

  test("a client that resumes clusters alone hears what has gone in the first response", () => {
    client.send(CDS, {
      initial: new Map([
        ["a", cluster("a").hash],
        ["gone", "x"],
      ]),
    });
    expect(client.settle()).toEqual([]);
    expect(client.state.wakeAtMs()).toBe(1200);
    client.advance(200);
    expect(client.settle()).toEqual(["CDS b -gone"]);
  });

  test("subscriptions inside an acknowledgement count, even of a superseded response", () => {
    client.send(EDS, { subscribe: ["a"] });
    const first = client.next();
    source.set({ [EDS]: [endpoints("a", "a2"), endpoints("b")] });
    client.next();
    client.send(EDS, { nonce: first?.nonce ?? "", subscribe: ["b"] });
    expect(client.settle()).toEqual(["EDS b"]);
  });

  test("what is asked for again by name is sent again", () => {
    client.send(EDS, { subscribe: ["a"] });
    client.settle();
    client.send(EDS, { subscribe: ["a"] });
    expect(client.settle()).toEqual(["EDS a"]);
  });

  test("what is asked for again in a refusal is sent after what the refusal may be about", () => {
    const all = (content: string) => [endpoints("a", content), endpoints("b", content), endpoints("c")];
    source.set({ [EDS]: all("1") });
    client.send(EDS, { subscribe: ["a", "b", "c"] });
    client.settle();
    source.set({ [EDS]: all("2") });
    client.send(EDS, { nonce: client.next()?.nonce ?? "", error: "something is wrong", subscribe: ["c"] });
    expect(client.settle()).toEqual(["EDS a", "EDS b", "EDS c"]);
  });

  test("the wildcard can be left and taken again", () => {
    client.send(CDS, { subscribe: ["*", "a"] });
    expect(client.settle()).toEqual(["CDS a,b"]);
    client.send(CDS, { unsubscribe: ["*"] });
    source.set({ [CDS]: [cluster("a", "a2"), cluster("b", "b2")] });
    expect(client.settle()).toEqual(["CDS a"]);
    client.send(CDS, { subscribe: ["*"] });
    expect(client.settle()).toEqual(["CDS b"]);
  });

  test("what a client says to hold is looked up by name at the pace of answers, and not sent where it is the same", () => {
    const names = Array.from({ length: 1000 }, (_, i) => `e${i}`);
    // Of endpoints that are in no set, every second is there by name.
    const known = new Map(names.filter((_, i) => i % 2 === 0).map((name) => [name, endpoints(name)]));
    let [asked, ms] = [0, 0];
    const counting: MemorySource = {
      ...source,
      connect: (...args) => ({
        ...source.connect(...args),
        get(_type, name) {
          asked++;
          return known.get(name);
        },
      }),
    };
    client = createClient("delta", counting, 0, () => (ms += 15));
    const held = (name: string): string => (name === "e2" ? "old" : endpoints(name).hash);
    // Who comes back to endpoints without clusters is sent them again.
    client.send(CDS, { subscribe: ["*"], initial: new Map([["a", "old"]]) });
    client.settle();
    client.send(EDS, { subscribe: names, initial: new Map(names.map((name) => [name, held(name)])) });
    expect(asked).toBe(0);
    const first = client.next();
    expect(asked).toBeLessThan(100);
    const told = [first];
    while (client.state.pending()) told.push(client.next());
    expect(told.flatMap((response) => response?.resources.map(({ name }) => name) ?? [])).toEqual(["e2"]);
    expect(told.flatMap((response) => response?.removed ?? [])).toHaveLength(500);
  });

  test("what hold-back looks at is not asked for by name where the client does not", () => {
    const asked: string[] = [];
    const inner = source.connect(silentNode, undefined, () => {});
    const [first, second] = [
      { [CDS]: [cluster("a"), cluster("b")], [RDS]: [route("r", "a"), route("other", "b")] },
      { [CDS]: [cluster("a")], [RDS]: [route("r", "a")] },
    ];
    source.set(first);
    client = createClient("delta", {
      ...source,
      connect: (...args) => ({
        ...source.connect(...args),
        get(type, name) {
          asked.push(name);
          return inner.get(type, name);
        },
      }),
    });
    client.send(CDS, {});
    client.send(LDS, {});
    client.send(RDS, { subscribe: ["r"] });
    client.settle();
    source.set(second);
    client.settle();
    expect(asked).not.toContain("other");
  });

  test("a cluster that was refused by name is taken back beside the next one, or at once where that is on its way", () => {
    const source = createMemorySource();
    source.set({ [CDS]: [plain("a"), plain("ring")] });
    const client = createClient("delta", source);
    client.subscribe(CDS);
    client.nack(client.next(), "Error adding/updating cluster(s) ring: too small");
    expect(client.flush()).toEqual([]);
    source.set({ [CDS]: [plain("a"), plain("ring"), plain("b")] });
    expect(client.settle()).toEqual(["CDS b -ring"]);
    expect(client.state.state(CDS)?.refusals?.wordsOf("ring")).toContain("too small");
    // What it had stays: it is sent again, as only that ends what is half-made.
    source.set({ [CDS]: [resource("a", "a2"), plain("ring"), plain("b")] });
    const refused = client.next();
    source.set({ [CDS]: [resource("a", "a2"), plain("ring"), plain("b"), plain("c")] });
    const next = client.next();
    client.nack(refused, "Error adding/updating cluster(s) a: too small");
    expect(client.flush()).toEqual(["CDS a"]);
    client.ack(next);
    expect(client.state.state(CDS)?.accepted("a")?.hash).toBe(plain("a").hash);
  });

  test("a removal is told once", () => {
    client.send(EDS, { subscribe: ["a"] });
    client.settle();
    source.set({ [EDS]: [] });
    expect(client.settle()).toEqual(["EDS -a"]);
    source.set({ [EDS]: [endpoints("b")] });
    expect(client.settle()).toEqual([]);
  });
});

test("versions are a time and a counter, nonces cannot be guessed", () => {
  const versions = createVersions({ now: () => new Date("2026-11-15T10:00:00Z"), uuid: () => "u-u-i-d" });
  expect(versions.next()).toEqual({
    version: "2026-11-15T10:00:00.000Z/1",
    nonce: "2026-11-15T10:00:00.000Z/1u-u-i-d",
  });
  expect(versions.next().version).toMatch(/\/2$/);
});

describe.each(["sotw", "delta"] as const)("what is refused without a name, %s", (variant) => {
  const names = Array.from({ length: 64 }, (_, i) => `r${i}`);

  test.each([RDS, LDS])("is found by sending %s in parts, and the others are taken", (type) => {
    const bad = new Set(["r7", "r42"]);
    const source = createMemorySource();
    source.set({ [type]: names.map((name) => resource(name, "good")) });
    const client = createClient(variant, source);
    client.subscribe(type, ...(type === RDS ? names : []));
    client.settle();
    const content = (name: string): string => (bad.has(name) ? "bad" : "better");
    source.set({ [type]: names.map((name) => resource(name, content(name))) });
    const text = (one: Response["resources"][number]): string => new TextDecoder().decode(bytesOf(one));
    const held = new Map(names.map((name) => [name, "good"]));
    let responses = 0;
    for (let response = client.next(); response; response = client.next()) {
      responses++;
      if (response.resources.some((one) => text(one) === "bad")) {
        client.nack(response, "no such thing");
        continue;
      }
      for (const one of response.resources) held.set(one.name, text(one));
      client.ack(response);
    }
    expect(names.filter((name) => held.get(name) !== "better")).toEqual([...bad]);
    expect(names.filter((name) => held.get(name) === "good")).toEqual([...bad]);
    const state = client.state.state(type);
    expect([...(state?.refusals?.names() ?? [])]).toEqual([...bad]);
    expect(state?.refusals?.wordsOf("r7")).toBe("no such thing");
    // Two among 64: some dozens, not 64.
    expect(responses).toBeLessThan(30);
    // The next version of it is offered again, whatever else is.
    bad.delete("r7");
    source.set({ [type]: names.map((name) => resource(name, content(name))) });
    expect(client.next()?.resources.some((one) => one.name === "r7" && text(one) === "better")).toBe(true);
  });

  test("who refuses everything is not sent it for ever", () => {
    const source = createMemorySource();
    source.set({ [RDS]: names.map((name) => resource(name, "x")) });
    const client = createClient(variant, source);
    client.subscribe(RDS, ...names);
    let responses = 0;
    for (let response = client.next(); response && responses < 1000; response = client.next()) {
      responses++;
      client.nack(response, "never");
    }
    expect(responses).toBe(2 * names.length - 1);
  });
});
