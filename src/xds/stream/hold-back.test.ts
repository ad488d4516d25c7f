/** For any course of changes and answers: no route is ever live without its cluster and endpoints, and all ends as wanted. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { bytesOf, type ResourceType, types } from "../../model/index.ts";
import { createMemorySource, resource } from "../testing.ts";
import { createNamePool } from "./names.ts";
import { createSteps } from "./steps.ts";
import { createStreamState, type Response } from "./stream-state.ts";
import { createVersions } from "./version.ts";

const { cluster: CDS, endpoint: EDS, listener: LDS, route: RDS } = types;
const names = ["a", "b", "c", "d"];

interface World {
  /** Which clusters exist, with a version each. */
  readonly clusters: readonly (readonly [string, number])[];
  /** For each route the cluster that it names, by position among those that exist. */
  readonly routes: readonly number[];
}

type Step = { readonly put: World } | { readonly deliver: true } | { readonly answer: true };

/** Envoy as far as it matters: takes responses in order, follows endpoints of its clusters, answers late. */
function createEnvoy(variant: "sotw" | "delta") {
  const source = createMemorySource();
  let n = 0;
  let nowMs = 0;
  const node = {
    id: "",
    cluster: "",
    metadata: {},
    locality: { region: "", zone: "", subZone: "" },
    extensions: new Set<string>(),
    userAgent: "",
  };
  const session = source.connect(node, undefined, (news) => state.changed(news));
  const versions = createVersions({ now: () => new Date(0), uuid: () => `-${++n}` });
  const state = createStreamState({
    variant,
    session,
    versions,
    steps: createSteps(),
    pool: createNamePool(),
    maxWaitMs: 5000,
    onHeldBack: () => {},
  });
  const clusters = new Map<string, string>();
  const warm = new Set<string>();
  const routes = new Map<string, readonly string[]>();
  const followed = new Set<string>();
  /** Requests on their way to the server. */
  const outgoing: (() => void)[] = [];
  const text = new TextDecoder();

  const ask = (
    type: ResourceType,
    subscribe: readonly string[],
    unsubscribe: readonly string[],
    nonce: string,
  ): void => {
    const all = type === EDS ? [...followed] : type === RDS ? ["r0", "r1"] : [];
    outgoing.push(() => {
      if (variant === "sotw") state.receiveSotw({ type, names: all, nonce, version: "" }, nowMs);
      else state.receiveDelta({ type, subscribe, unsubscribe, initial: new Map(), nonce }, nowMs);
    });
  };
  let endpointNonce = "";

  function takeClusters(response: Response): void {
    const before = new Set(clusters.keys());
    if (variant === "sotw")
      for (const name of before) if (!response.resources.some((one) => one.name === name)) drop(name);
    for (const name of response.removed) drop(name);
    for (const one of response.resources) {
      const version = text.decode(bytesOf(one));
      // A changed cluster warms beside the old one, which serves until then.
      if (clusters.get(one.name) === undefined) warm.delete(one.name);
      clusters.set(one.name, version);
    }
    const added = [...clusters.keys()].filter((name) => !followed.has(name));
    const gone = [...followed].filter((name) => !clusters.has(name));
    for (const name of added) followed.add(name);
    for (const name of gone) followed.delete(name);
    if (added.length + gone.length > 0) ask(EDS, added, gone, variant === "sotw" ? endpointNonce : "");
  }

  function drop(name: string): void {
    clusters.delete(name);
    warm.delete(name);
    for (const [route, named] of routes)
      if (named.includes(name)) throw new Error(`cluster ${name} went while ${route} names it`);
  }

  function take(response: Response): void {
    if (response.type === CDS) takeClusters(response);
    if (response.type === EDS) {
      endpointNonce = response.nonce;
      for (const one of response.resources) if (clusters.has(one.name)) warm.add(one.name);
    }
    if (response.type === RDS)
      for (const one of response.resources) {
        for (const name of one.needs)
          if (!warm.has(name)) throw new Error(`${one.name} names ${name}, which is not there`);
        routes.set(one.name, one.needs);
      }
    ask(response.type, [], [], response.nonce);
  }

  return {
    put(world: World): void {
      const kept = world.clusters.length === 0 ? ([["a", 0]] as const) : world.clusters;
      const wanted = new Map(kept);
      const made = [...wanted.keys()];
      source.set({
        [CDS]: [...wanted].map(([name, version]) => resource(name, `${name}${version}`, [name])),
        [EDS]: made.map((name) => resource(name, `endpoints of ${name}`)),
        [LDS]: [resource("l", "l")],
        [RDS]: world.routes.map((pick, i) => {
          const target = made[pick % made.length] ?? "a";
          return resource(`r${i}`, `r${i}>${target}`, [target]);
        }),
      });
    },
    start(): void {
      ask(CDS, [], [], "");
      this.settle();
      ask(LDS, [], [], "");
      ask(RDS, ["r0", "r1"], [], "");
    },
    deliver(): boolean {
      nowMs++;
      const response = state.next(nowMs);
      if (response) take(response);
      return response !== undefined;
    },
    answer(): boolean {
      const request = outgoing.shift();
      request?.();
      return request !== undefined;
    },
    settle(): void {
      for (let i = 0; i < 1000; i++) if (![this.deliver(), this.answer()].some(Boolean)) return;
      throw new Error("it does not come to rest");
    },
    holds: () => ({
      clusters: [...clusters.values()].sort(),
      routes: [...routes].map(([name, [target]]) => `${name}>${target}`).sort(),
    }),
    wanted: () => ({
      clusters: [...session.all(CDS).entries()].map(([, one]) => text.decode(bytesOf(one))).sort(),
      routes: [...session.all(RDS).entries()].map(([, one]) => text.decode(bytesOf(one))).sort(),
    }),
    state,
  };
}

const world: fc.Arbitrary<World> = fc.record({
  clusters: fc.uniqueArray(fc.tuple(fc.constantFrom(...names), fc.nat(2)), {
    maxLength: 4,
    selector: ([name]) => name,
  }),
  routes: fc.tuple(fc.nat(3), fc.nat(3)),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: world.map((put) => ({ put })) },
  { weight: 3, arbitrary: fc.constant({ deliver: true } as const) },
  { weight: 3, arbitrary: fc.constant({ answer: true } as const) },
);

test.each(["sotw", "delta"] as const)("%s", (variant) => {
  fc.assert(
    fc.property(world, fc.array(step, { maxLength: 60 }), (first, steps) => {
      const envoy = createEnvoy(variant);
      envoy.put(first);
      envoy.start();
      envoy.settle();
      for (const one of steps) {
        if ("put" in one) envoy.put(one.put);
        else if ("deliver" in one) envoy.deliver();
        else envoy.answer();
      }
      envoy.settle();
      expect(envoy.holds()).toEqual(envoy.wanted());
      expect(envoy.state.held()).toEqual([]);
    }),
    { numRuns: 2000 },
  );
});
