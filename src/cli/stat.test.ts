/** `fairlead stat` on the debug path of a control plane, whose store was told of requests as agents tell. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { silentLogger } from "../lib/index.ts";
import { createHttpServer, type HttpServer } from "../ops/index.ts";
import { createTrafficStore } from "../traffic/index.ts";
import { edge, party, requests } from "../traffic/testing.ts";
import { type Outcome, runCli } from "./testing.ts";
import { servePlane } from "./traffic/testing.ts";

const clocks = { now: () => new Date(), monotonicMs: () => performance.now() };
const [front, back, db] = [party("front"), party("back"), party("db", "data")];

describe("fairlead stat", () => {
  const store = createTrafficStore(clocks);
  let server: HttpServer;
  let address = "";
  const run = (...args: readonly string[]): Promise<Outcome> => runCli(["stat", ...args, "--address", address]);
  const cells = ({ stdout }: Outcome): readonly (readonly string[])[] =>
    stdout
      .split("\n")
      .filter(Boolean)
      .map((row) => row.split(/ {2,}/));

  beforeAll(async () => {
    server = await servePlane({ store });
    address = `127.0.0.1:${server.address.port}`;
    store.reporters(1);
    store.add(edge(front, back), "source", { counts: requests(200, { serverErrors: 10 }, 80), flags: [["UF", 3]] });
    store.add(edge(front, back), "destination", { counts: requests(200, { serverErrors: 10, mutual: 200 }, 80) });
    store.add(edge(party("evil\u001b[2J"), back), "source", { counts: requests(1) });
    store.add(edge(back, db, "tcp"), "source", { counts: [3, 1, 3, 0, 5000, 6000] });
  });
  afterAll(() => server.close());

  test("shows each workload, with what came to it", async () => {
    const [header, ...rows] = cells(await run());
    expect(header).toEqual(["NAMESPACE", "NAME", "SUCCESS", "RPS", "P50", "P95", "P99", "TCP", "MTLS"]);
    expect(
      rows.map(([namespace, name, success, , , , , tcp, mutual]) => [namespace, name, success, tcp, mutual]),
    ).toEqual([
      ["data", "db", "-", "3", "all"],
      ["shop", "back", "95.02%", "-", "all"],
      ["shop", "evil\\u001b[2J", "-", "-", "-"],
      ["shop", "front", "-", "-", "-"],
    ]);
  });

  test("by service and namespace, by name, from and to others", async () => {
    expect(
      cells(await run("svc", "-n", "shop"))
        .slice(1)
        .map(([, name]) => name),
    ).toEqual(["back"]);
    expect(
      cells(await run("ns"))
        .slice(1)
        .map(([name, success]) => [name, success]),
    ).toEqual([
      ["data", "-"],
      ["shop", "95.02%"],
    ]);
    expect(
      cells(await run("deploy/back", "--from", "front"))
        .slice(1)
        .map((row) => row[2]),
    ).toEqual(["95.00%"]);
    const out = cells(await run("deploy", "front", "--to", "svc/back.shop", "-o", "wide"));
    expect(out[1]?.slice(9)).toEqual(["200", "0", "10", "0", "-", "-", "http", "UF"]);
    expect(out).toHaveLength(2);
    expect((await run("deploy/back", "--from", "ns/data")).status).toBe(1);
    expect(await run("svc/none")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("no requests were seen"),
    });
  });

  test("requests that came to no workload of the mesh are called so", async () => {
    const lone = createTrafficStore(clocks);
    lone.add(edge(front, party("", "")), "source", { counts: requests(5, { serverErrors: 5 }) });
    const plane = await servePlane({ store: lone });
    const asked = await runCli(["stat", "deploy", "--address", `127.0.0.1:${plane.address.port}`]);
    await plane.close();
    expect(cells(asked).map(([, name]) => name)).toContain("(no workload)");
    expect(asked.stdout).not.toContain("unknown");
  });

  test("those that are counted by namespace, for want of room, are others, not nobody", async () => {
    const full = createTrafficStore({ ...clocks, maxEdges: 10 });
    for (let i = 0; i < 20; i++) full.add(edge(front, party(`w${i}`)), "source", { counts: requests(5) });
    const plane = await servePlane({ store: full });
    const asked = await runCli(["stat", "deploy", "--address", `127.0.0.1:${plane.address.port}`]);
    await plane.close();
    expect(cells(asked).map(([, name]) => name)).toContain("(others)");
    expect(asked.stdout).not.toContain("(no workload)");
    expect(asked.stderr).toContain("counted by namespace alone");
  });

  test("as JSON, with how long it was counted for", async () => {
    const { stdout } = await run("svc/back", "-o", "json", "-t", "10m");
    expect(JSON.parse(stdout)).toMatchObject({
      ...{ by: "service", reporters: 1, foldedEdges: 0 },
      rows: [{ name: "back", requests: { requests: 201, serverErrors: 10 }, mutualTls: "all" }],
    });
  });

  test("of several control planes as one", async () => {
    const other = createTrafficStore(clocks);
    other.add(edge(front, back), "source", { counts: requests(100) });
    const second = await servePlane({ store: other });
    const { stdout } = await run("svc/back", "-o", "json", "--address", `127.0.0.1:${second.address.port}`);
    expect(JSON.parse(stdout)).toMatchObject({ rows: [{ requests: { requests: 301 } }] });
    await second.close();
  });

  test("what cannot be asked is told in a line", async () => {
    const mistakes = [["pods"], ["deploy/"], ["a/b/c"], ["-t", "2h"], ["-t", "soon"]];
    for (const mistake of mistakes) {
      const { status, stderr } = await run(...mistake);
      expect([status, stderr.split("\n").length]).toEqual([2, 3]);
    }
    const gone = await runCli(["stat", "--address", "127.0.0.1:1"]);
    expect(gone).toMatchObject({ status: 1, stderr: expect.stringContaining("does not answer") });
    const wrong = await fetch(`http://${address}/debug/trafficz?last=9h`);
    expect(wrong.status).toBe(400);
    expect(await wrong.text()).toContain("up to an hour");
  });

  test("without reporters it says so", async () => {
    const empty = await servePlane({ store: createTrafficStore(clocks) });
    const { status, stderr } = await runCli(["stat", "--address", `127.0.0.1:${empty.address.port}`]);
    expect([status, stderr]).toEqual([0, expect.stringContaining("no agent reports")]);
    await empty.close();
  });

  test("an answer that is none is refused", async () => {
    const odd = await createHttpServer({
      address: { host: "127.0.0.1", port: 0 },
      log: silentLogger,
      routes: new Map([["/debug/", () => ({ status: 200, body: '{"traffic": 7}' })]]),
    });
    const { status, stderr } = await runCli(["stat", "--address", `127.0.0.1:${odd.address.port}`]);
    expect([status, stderr]).toEqual([1, expect.stringContaining("none on requests")]);
    await odd.close();
  });
});
