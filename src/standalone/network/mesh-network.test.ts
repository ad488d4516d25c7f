/** Pods on a mesh network of their own: who is heard where, whatever a Pod says of itself. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { lacks } from "../../../test/require.ts";
import { ownerOf } from "../../lib/index.ts";
import { openJournal } from "../journal.ts";
import { endJournal } from "../leftovers.ts";
import { ip } from "./ip.ts";
import { createMeshNetwork } from "./mesh-network.ts";
import { planNetwork } from "./plan.ts";
import { createPodNetwork, type PodNetwork } from "./pod-network.ts";

describe.skipIf(lacks("root"))("a mesh network", () => {
  let undo: (() => void | Promise<void>)[];
  let address: (last: number) => string;
  let pod: (name: string, last: number) => Promise<PodNetwork>;

  beforeEach(async () => {
    const dir = mkdtempSync(join(tmpdir(), "mesh-network-"));
    const plan = planNetwork({ dataDir: dir });
    const owner = ownerOf(process.pid);
    if (!owner) throw new Error("this process is not there");
    const journal = openJournal(dir, "test", owner);
    undo = [() => endJournal(journal), () => rmSync(dir, { recursive: true })];
    await createMeshNetwork(plan, journal);
    address = (last) => plan.hostAddress.replace(/\d+$/, String(last));
    pod = (name, last) => createPodNetwork(plan, journal, { id: name, address: address(last) });
  });
  afterEach(async () => {
    for (const step of undo) await step();
  });

  const within = ({ namespace }: PodNetwork, script: string): ChildProcess => {
    const child = spawn("ip", ["netns", "exec", namespace, process.execPath, "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    undo.unshift(() => void child.kill("SIGKILL"));
    return child;
  };
  /** The lines of a child, one by one. */
  const lines = (child: ChildProcess): AsyncIterator<string> => {
    if (!child.stdout) throw new Error("no output");
    return createInterface(child.stdout)[Symbol.asyncIterator]();
  };

  test("a packet under another's address goes nowhere: not a Pod's, not the host's, not one from outside", async () => {
    const [victim, forger] = [await pod("victim", 20), await pod("forger", 21)];
    await pod("other", 22);
    const stolen = [address(1), address(22), "203.0.113.5"];
    for (const one of stolen) await ip("-n", forger.namespace, "addr", "add", `${one}/32`, "dev", "eth0");
    const heard = lines(
      within(
        victim,
        `const socket = require("node:dgram").createSocket("udp4");
         socket.on("message", (data, { address }) => console.log(data + " from " + address));
         socket.bind(5353, () => console.log("listening"));`,
      ),
    );
    expect((await heard.next()).value).toBe("listening");
    const from = JSON.stringify([...stolen, address(21)]);
    const sender = within(
      forger,
      `const { createSocket } = require("node:dgram");
       const say = (address) => new Promise((done) => {
         const socket = createSocket("udp4");
         socket.bind(53, address, () => socket.send("an answer", 5353, ${JSON.stringify(address(20))}, () => socket.close(done)));
       });
       (async () => { for (const address of ${from}) await say(address); })();`,
    );
    await once(sender, "exit");
    // On one link nothing overtakes: what was sent before would have come before.
    expect((await heard.next()).value).toBe(`an answer from ${address(21)}`);
  });

  test("who takes the host's address for himself is not asked in its place", async () => {
    const [victim, forger] = [await pod("victim", 20), await pod("forger", 21)];
    await ip("-n", forger.namespace, "addr", "add", `${address(1)}/32`, "dev", "eth0");
    const server = createServer((socket) => void socket.end("the host")).listen(0, address(1));
    undo.unshift(() => void server.close());
    await once(server, "listening");
    const bound = server.address();
    const port = typeof bound === "object" && bound ? bound.port : 0;
    const pretender = lines(
      within(
        forger,
        `require("node:net").createServer((socket) => socket.end("the forger"))
           .listen(${port}, ${JSON.stringify(address(1))}, () => console.log("listening"));`,
      ),
    );
    expect((await pretender.next()).value).toBe("listening");
    const ask = `require("node:net").connect(${port}, ${JSON.stringify(address(1))}).on("data", (data) => console.log(String(data)));`;
    expect((await lines(within(victim, ask)).next()).value).toBe("the host");
  });

  test("Pods reach each other and the host; one that is gone is told as such at once", async () => {
    const [a, b] = [await pod("a", 20), await pod("b", 21)];
    const server = `require("node:net").createServer((socket) => socket.end(socket.remoteAddress)).listen(9, "0.0.0.0", () => console.log("listening"));`;
    expect((await lines(within(b, server)).next()).value).toBe("listening");
    const ask = (last: number): Promise<IteratorResult<string>> =>
      lines(
        within(
          a,
          `require("node:net").connect(9, ${JSON.stringify(address(last))})
             .on("data", (data) => console.log(String(data))).on("error", ({ code }) => console.log(code));`,
        ),
      ).next();
    expect((await ask(21)).value).toBe(address(20));
    expect((await ask(1)).value).toBe("ECONNREFUSED");
    await b.remove();
    expect((await ask(21)).value).toBe("EHOSTUNREACH");
  });
});
