/** What a push costs is counted in names that were looked at: what changed, once for all streams that are in step. */
import { expect, test } from "vitest";
import { createResourceSet, type Resource, type ResourceSet, type ResourceType, types } from "../../model/index.ts";
import type { News, ProxySession } from "../source.ts";
import { resource } from "../testing.ts";
import { createNamePool } from "./names.ts";
import { createSteps } from "./steps.ts";
import { createStreamState, type Response, type StreamState } from "./stream-state.ts";
import { createVersions } from "./version.ts";

const { cluster: CDS, endpoint: EDS, listener: LDS, route: RDS } = types;
const services = 500;
const hosts = Array.from({ length: services }, (_, i) => `outbound|80||s${i}.default.svc.cluster.local`);

function createMesh(variant: "sotw" | "delta") {
  const layers = new Map<ResourceType, ReadonlyMap<string, Resource>>([
    [CDS, new Map(hosts.map((name) => [name, resource(name, `${name} 0`, [name])]))],
    [EDS, new Map(hosts.map((name) => [name, resource(name, `endpoints of ${name} 0`)]))],
    [LDS, new Map([["0.0.0.0_80", resource("0.0.0.0_80", "listener 0")]])],
    [RDS, new Map([["80", resource("80", "routes 0", hosts)]])],
  ]);
  const sets = new Map<ResourceType, ResourceSet>();
  for (const [type, layer] of layers) sets.set(type, createResourceSet([layer]));
  const steps = createSteps();
  const pool = createNamePool();
  const streams: StreamState[] = [];
  const empty = createResourceSet([]);
  let n = 0;
  const session: ProxySession = {
    ready: undefined,
    all: (type) => sets.get(type) ?? empty,
    get: (type, name) => sets.get(type)?.get(name),
    forget() {},
    close() {},
  };

  const ask = (stream: StreamState, type: ResourceType, names: readonly string[], nonce = ""): void => {
    if (variant === "delta")
      stream.receiveDelta(
        { type, subscribe: nonce === "" ? names : [], unsubscribe: [], initial: new Map(), nonce },
        1,
      );
    else stream.receiveSotw({ type, names, nonce, version: "" }, 1);
  };
  const namesOf = (type: ResourceType): readonly string[] => (type === EDS ? hosts : type === RDS ? ["80"] : []);

  return {
    steps,
    connect(): void {
      const stream = createStreamState({
        ...{ variant, session, steps, pool },
        versions: createVersions({ now: () => new Date(0), uuid: () => `-${++n}` }),
        times: { maxWaitMs: 5000, drainMs: 0 },
        onHeldBack() {},
      });
      streams.push(stream);
      for (const type of [CDS, EDS, LDS, RDS]) ask(stream, type, namesOf(type));
    },
    change(changes: Partial<Record<ResourceType, readonly Resource[]>>): void {
      const news = new Map<ResourceType, ReadonlySet<string>>();
      for (const type of [CDS, EDS, LDS, RDS]) {
        const changed = changes[type];
        if (!changed) continue;
        const now = new Map([...(layers.get(type) ?? []), ...changed.map((one) => [one.name, one] as const)]);
        sets.set(type, createResourceSet([now]));
        layers.set(type, now);
        news.set(type, new Set(changed.map((one) => one.name)));
      }
      const shared: News = news;
      for (const stream of streams) stream.changed(shared);
    },
    /** What all streams send until nothing is left, each response acknowledged. */
    push(): Response[] {
      const all: Response[] = [];
      for (const stream of streams)
        for (let response = stream.next(1); response; response = stream.next(1)) {
          all.push(response);
          ask(stream, response.type, namesOf(response.type), response.nonce);
        }
      return all;
    },
    looked(act: () => void): number {
      const before = steps.looked;
      act();
      return steps.looked - before;
    },
  };
}

function startMesh(variant: "sotw" | "delta", streams: number) {
  const mesh = createMesh(variant);
  for (let i = 0; i < streams; i++) mesh.connect();
  mesh.push();
  return mesh;
}

test.each(["sotw", "delta"] as const)(
  "%s: one change is worked out once, whatever the number of streams",
  (variant) => {
    const mesh = startMesh(variant, 100);
    const changed = hosts[7] ?? "";
    let responses: Response[] = [];
    const looked = mesh.looked(() => {
      mesh.change({ [EDS]: [resource(changed, "endpoints anew")] });
      responses = mesh.push();
    });
    expect(responses).toHaveLength(100);
    expect(responses.every(({ resources }) => resources.length === 1)).toBe(true);
    // All are handed the same list, so its bytes are framed once.
    expect(new Set(responses.map(({ resources }) => resources)).size).toBe(1);
    expect(looked).toBe(1);
  },
);

test("a new version of a route that names the same clusters costs one name, not its clusters", () => {
  const mesh = startMesh("delta", 100);
  expect(
    mesh.looked(() => {
      mesh.change({ [RDS]: [resource("80", "routes 1", hosts)] });
      expect(mesh.push()).toHaveLength(100);
    }),
  ).toBe(1);
});

test("a route that names one more cluster makes each stream look at that alone", () => {
  const mesh = startMesh("delta", 10);
  const added = "outbound|80||new.default.svc.cluster.local";
  const looked = mesh.looked(() => {
    mesh.change({
      [CDS]: [resource(added, "new", [added])],
      [EDS]: [resource(added, "endpoints of new")],
      [RDS]: [resource("80", "routes 1", [...hosts, added])],
    });
    mesh.push();
  });
  // Three names once, then the held route by each of the streams with every answer it gets.
  expect(looked).toBeLessThanOrEqual(3 + 10 * 4);
});

test("a change that a stream did not ask for is not sent, and not looked at again", () => {
  const mesh = startMesh("delta", 10);
  const unasked = resource("unasked", "endpoints");
  expect(
    mesh.looked(() => {
      mesh.change({ [EDS]: [unasked] });
      expect(mesh.push()).toEqual([]);
    }),
  ).toBeLessThanOrEqual(1 + 10);
});

test("streams that ask for the same names hold them once", () => {
  const pool = createNamePool();
  expect(pool(new Set(hosts))).toBe(pool(new Set(hosts.toReversed())));
  expect(pool(new Set(hosts))).not.toBe(pool(new Set(hosts.slice(1))));
});
