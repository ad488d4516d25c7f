/** What a stream hands to its reader, and when: a reader that takes nothing holds one push and nothing behind it. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RouteConfigurationSchema } from "../../gen/envoy/config/route/v3/route_pb.js";
import { DeltaDiscoveryResponseSchema } from "../../gen/envoy/service/discovery/v3/discovery_pb.js";
import { type Resource, types } from "../../model/index.ts";
import type { Call, Payload } from "../../rpc/index.ts";
import { noMetrics } from "../metrics.ts";
import { createNamePool } from "../stream/names.ts";
import { createRouteApart } from "../stream/route-parts.ts";
import { createSteps } from "../stream/steps.ts";
import { createStreamState } from "../stream/stream-state.ts";
import { createVersions } from "../stream/version.ts";
import { createMemorySource, resource, silentNode } from "../testing.ts";
import { shortName, type WireType } from "../type-info.ts";
import { createPusher } from "./pusher.ts";
import { createTurns } from "./turns.ts";
import { createEncode } from "./wire.ts";

const call: Call = {
  path: "",
  metadata: () => undefined,
  peer: { address: "", client: undefined, tls: undefined },
  signal: new AbortController().signal,
  drains: () => 0,
};

function startStream() {
  const source = createMemorySource();
  let n = 0;
  const session = source.connect(silentNode, undefined, (news) => {
    state.changed(news);
    pusher.news();
  });
  const state = createStreamState({
    ...{ variant: "delta", session, steps: createSteps(), pool: createNamePool(), onHeldBack: () => {} },
    versions: createVersions({ now: () => new Date(0), uuid: () => `-${++n}` }),
    hosts: { enabled: true, apart: createRouteApart() },
    times: { maxWaitMs: 5000, drainMs: 0 },
  });
  /** What was handed over and not taken yet. */
  const open: { readonly payload: Payload; readonly take: () => void; readonly fail: (error: Error) => void }[] = [];
  const errors: unknown[] = [];
  const observed: string[] = [];
  const shared = {
    metrics: { ...noMetrics, observe: (name: string) => void observed.push(name) },
    encode: createEncode("test"),
    turns: createTurns({
      maxWriting: 100,
      maxWritingMs: 1e6,
      stalledMs: 1e6,
      onSlow: () => {},
      nowMs: () => performance.now(),
    }),
  };
  const pusher = createPusher(shared, {
    ...{ state, variant: "delta", call, ready: undefined },
    send: (payload) => new Promise((take, fail) => open.push({ payload, take, fail })),
    onError: (error) => errors.push(error),
  });
  const settled = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await nextTurn();
  };
  return {
    source,
    open,
    errors,
    observed,
    ask(type: WireType, subscribe: readonly string[] = []) {
      state.receiveDelta({ type, subscribe, unsubscribe: [], initial: new Map(), nonce: "" }, performance.now());
      pusher.kick();
    },
    settled,
    /** Takes all that is open, acknowledges it, and says what it was. */
    async take(): Promise<readonly string[]> {
      const said: string[] = [];
      for (const { payload, take } of open.splice(0)) {
        const { typeUrl, resources, nonce } = fromBinary(DeltaDiscoveryResponseSchema, Buffer.concat(payload));
        const type = typeUrl as WireType;
        // A mark has no content.
        const names = resources.filter(({ resource }) => resource).map(({ name }) => name);
        said.push([shortName(type), ...names].join(" "));
        take();
        state.receiveDelta({ type, subscribe: [], unsubscribe: [], initial: new Map(), nonce }, performance.now());
      }
      await settled();
      return said;
    },
  };
}

function route(name: string, hosts: readonly string[]): Resource {
  const virtualHosts = hosts.map((host) => ({ name: host, domains: [host] }));
  return resource(name, toBinary(RouteConfigurationSchema, create(RouteConfigurationSchema, { name, virtualHosts })));
}

test("a route configuration and its virtual hosts leave in one turn", async () => {
  const { source, ask, open, settled, take } = startStream();
  source.set({ [types.route]: [route("80", ["a", "b"]), route("90", [])] });
  ask(types.route, ["80", "90"]);
  await settled();
  expect(open).toHaveLength(4);
  expect(await take()).toEqual(["RDS 80", "VHDS 80/a 80/b", "RDS 90", "VHDS"]);
  source.set({ [types.route]: [route("80", ["a", "c"]), route("90", ["d"])] });
  await settled();
  expect(await take()).toEqual(["VHDS 80/c", "VHDS 90/d"]);
});

test("a reader that goes while parts are written ends its stream, and nothing else", async () => {
  const { source, ask, open, settled, errors } = startStream();
  source.set({ [types.route]: [route("80", ["a"])] });
  ask(types.route, ["80"]);
  await settled();
  for (const { fail } of open.splice(0)) fail(new Error("the reader has gone"));
  await settled();
  expect(errors).toEqual([new Error("the reader has gone")]);
});

test("a reader that takes nothing holds one push; the next is made of what is newest then, each type once", async () => {
  const { source, ask, open, settled, take } = startStream();
  const all = (n: number) => ({
    [types.cluster]: [resource("c", `${n}`), resource(`c${n}`, "")],
    [types.listener]: [resource("l", `${n}`)],
  });
  source.set(all(0));
  ask(types.cluster);
  ask(types.listener);
  await settled();
  for (let n = 1; n <= 1000; n++) source.set(all(n));
  await settled();
  expect(open).toHaveLength(1);
  expect(await take()).toEqual(["CDS c c0"]);
  const later: (readonly string[])[] = [];
  for (let some = await take(); some.length > 0; some = await take()) later.push(some);
  expect(later).toEqual([["CDS c c1000"], ["LDS l"]]);
});

test("news that the stream has not asked for are not waited for: they take no time to converge", async () => {
  const { source, ask, observed, settled, take } = startStream();
  source.set({ [types.cluster]: [resource("c", "1")], [types.listener]: [resource("l", "1")] });
  ask(types.cluster);
  await settled();
  await take();
  source.set({ [types.listener]: [resource("l", "2")] });
  ask(types.listener);
  await settled();
  await take();
  expect(observed).not.toContain("pilot_proxy_convergence_time");
  source.set({ [types.listener]: [resource("l", "3")] });
  await settled();
  await take();
  expect(observed.filter((name) => name === "pilot_proxy_convergence_time")).toHaveLength(1);
});
