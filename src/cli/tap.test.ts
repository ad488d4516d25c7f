/** `fairlead tap` and `top` on the debug path of a control plane, with agents that tell what they are asked for. */

import { create } from "@bufbuild/protobuf";
import { afterEach, describe, expect, test } from "vitest";
import {
  Edge_Protocol,
  Edge_Side,
  PeerSchema,
  type Request,
  RequestSchema,
  type Tap,
  TappedSchema,
} from "../gen/fairlead/traffic_pb.js";
import { createTapHub } from "../traffic/index.ts";
import { party } from "../traffic/testing.ts";
import { type Outcome, runCli } from "./testing.ts";
import { servePlane } from "./traffic/testing.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const request = (path: string, more: Omit<Partial<Request>, "$typeName" | "$unknown"> = {}): Request =>
  create(RequestSchema, {
    ...{
      side: Edge_Side.DESTINATION,
      protocol: Edge_Protocol.HTTP,
      method: "GET",
      authority: "back",
      path,
      status: 200,
    },
    ...{ durationMs: 3, mutual: true, peer: create(PeerSchema, { namespace: "shop", workload: "front" }), ...more },
    service: { name: "back", namespace: "shop" },
  });

interface Plane {
  readonly address: string;
  /** What its one agent was asked for. */
  readonly orders: Tap[];
}

/** Its agent tells these at once, and nothing more. */
async function plane(requests: readonly Request[], leftOut = 0): Promise<Plane> {
  const hub = createTapHub({ now: () => new Date(), monotonicMs: () => performance.now(), headers: ["user-agent"] });
  const orders: Tap[] = [];
  const agent = {
    party: party("back"),
    order(tap: Tap) {
      orders.push(tap);
      const tapped = create(TappedSchema, { id: tap.id, requests: [...requests], leftOut });
      if (tap.forMs > 0) setImmediate(() => hub.take(agent, tapped));
    },
  };
  hub.join(agent);
  const server = await servePlane({ taps: hub });
  closers.push(() => server.close());
  return { address: `127.0.0.1:${server.address.port}`, orders };
}

const run = (command: string, { address }: Plane, ...args: readonly string[]): Promise<Outcome> =>
  runCli([command, ...args, "--for", "300ms", "--address", address]);

describe("fairlead tap", () => {
  test("prints a line for each request, and what was left out", async () => {
    const at = await plane(
      [
        request("/a"),
        request("/b", {
          status: 503,
          flags: "UH",
          mutual: false,
          side: Edge_Side.SOURCE,
          peer: create(PeerSchema),
          peerAddress: "10.0.0.9",
        }),
        request("", { protocol: Edge_Protocol.TCP, method: "", sentBytes: 5, receivedBytes: 7 }),
        request("/\u001b[2J", { headers: { "user-agent": "x" } }),
      ],
      4,
    );
    const { status, stdout, stderr } = await run("tap", at, "deploy/back");
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(/^[\d:.]+ {2}/, ""));
    expect([status, lines]).toEqual([
      0,
      [
        "in   front.shop -> back.shop  GET back/a  200  3ms  mtls",
        "out  back.shop -> 10.0.0.9  GET back/b  503  3ms  UH",
        "in   front.shop -> back.shop  tcp connection  -  5B/7B  mtls",
        "in   front.shop -> back.shop  GET back/\\u001b[2J  200  3ms  mtls",
      ],
    ]);
    expect(stderr).toBe("4 requests of 1 proxies; 4 more were not shown\n");
  });

  test("asks agents for what is wanted, and for nothing when it ends", async () => {
    const at = await plane([]);
    const filters = ["--from", "ns/web", "--method", "get", "--path", "/api", "--status", "5xx", "--max-rps", "7"];
    await run("tap", at, "deploy/back.shop", ...filters, "--headers", "User-Agent");
    expect(at.orders[0]).toMatchObject({
      ...{ perSecond: 7, headers: ["user-agent"] },
      filter: {
        ...{ side: Edge_Side.DESTINATION, method: "GET", pathPrefix: "/api", minStatus: 500, maxStatus: 599 },
        peer: { namespace: "web", workload: "" },
      },
    });
    expect(at.orders.at(-1)).toMatchObject({ forMs: 0 });
    await run("tap", at, "svc/back", "--to", "front");
    expect(at.orders[2]).toMatchObject({ filter: { service: { name: "back" }, peer: { workload: "front" } } });
    expect((await run("tap", at, "deploy/other")).stderr).toContain("no proxy");
  });

  test("as JSON, a request on each line, and nothing that a terminal obeys", async () => {
    const { stdout } = await run("tap", await plane([request("/a"), request("/b\u009b31m")]), "-o", "json");
    expect(stdout).toContain("\\u009b31m");
    const paths = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).path);
    expect(paths).toEqual(["/a", "/b\u009b31m"]);
  });

  test("what may not or cannot be asked is told in a line", async () => {
    const at = await plane([]);
    const mistakes = [
      [["--headers", "x-request-id"], /may not be shown/],
      [["--headers", "authorization"], /note no header/],
      [["--status", "9xx"], /status is a number/],
      [["--side", "left"], /side is/],
      [["--max-rps", "-3"], /above zero/],
      [["--from", "a", "--to", "b"], /cannot be had together/],
      [["pods"], /names nothing/],
      [["--path", "x".repeat(2000)], /too long/],
    ] as const;
    for (const [args, message] of mistakes) {
      const { status, stderr } = await run("tap", at, ...args);
      expect([status > 0, stderr]).toEqual([true, expect.stringMatching(message)]);
    }
    expect((await fetch(`http://${at.address}/debug/tapz?session=nonsense`)).status).toBe(404);
    expect((await fetch(`http://${at.address}/debug/tapz?body=1`)).status).toBe(400);
  });
});

describe("fairlead top", () => {
  const requests = [request("/a", { durationMs: 1 }), request("/a", { durationMs: 20, status: 500 }), request("/b")];

  test("counts requests by caller, method and path", async () => {
    const { stdout } = await run("top", await plane(requests));
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map((row) => row.split(/ {2,}/));
    expect(rows).toEqual([
      ["SOURCE", "DESTINATION", "METHOD", "PATH", "COUNT", "BEST", "WORST", "LAST", "SUCCESS"],
      ["front.shop", "back.shop", "GET", "/a", "2", "1ms", "20ms", "20ms", "50.00%"],
      ["front.shop", "back.shop", "GET", "/b", "1", "3ms", "3ms", "3ms", "100.00%"],
    ]);
  });

  test("a path cannot move the terminal's cursor, in any form", async () => {
    const one = await plane([request("/\u009b2J\u202ex")]);
    for (const form of [[], ["-o", "json"]] as const) {
      const { stdout } = await run("top", one, ...form);
      expect(stdout).not.toMatch(/[\u0080-\u009f\u202e]/);
    }
  });

  test("of several control planes as one, as JSON", async () => {
    const [one, other] = [await plane(requests), await plane(requests, 2)];
    const { stdout } = await run("top", one, "--hide-sources", "-o", "json", "--address", other.address);
    expect(JSON.parse(stdout)).toMatchObject({
      leftOut: 2,
      rows: [{ path: "/a", count: 4, failed: 2, source: "" }, { count: 2 }],
    });
    expect(one.orders[0]).toMatchObject({ filter: { side: Edge_Side.DESTINATION } });
  });
});
