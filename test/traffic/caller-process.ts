/** The process behind a caller: orders from its parent in, answers out; it ends with its parent. */
import http from "node:http";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import tls from "node:tls";
import type { Answer, ConnectCall, HttpCall, LoadReport, LoadSpec, Order } from "./caller.ts";

const quietMs = 300;
const agents = new Map<number, http.Agent>();

function agentFor(concurrency: number): http.Agent {
  let agent = agents.get(concurrency);
  if (!agent) {
    agent = new http.Agent({ keepAlive: true, maxSockets: concurrency });
    agents.set(concurrency, agent);
  }
  return agent;
}

function request(call: HttpCall, agent: http.Agent): Promise<Answer> {
  const started = performance.now();
  return new Promise((resolve) => {
    const answer = (more: Partial<Answer>): void =>
      resolve({ status: 0, headers: {}, body: "", error: "", ms: performance.now() - started, ...more });
    const outgoing = http.request(
      {
        host: call.address,
        port: call.port,
        path: call.path ?? "/",
        method: call.method ?? "GET",
        headers: { ...(call.host === undefined ? {} : { host: call.host }), ...call.headers },
        agent,
        timeout: call.timeoutMs ?? 15_000,
        maxHeaderSize: 1 << 20,
      },
      (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          body += chunk;
        });
        const headers = response.headers as Answer["headers"];
        response.on("end", () => answer({ status: response.statusCode ?? 0, headers, body }));
        response.on("error", (error) => answer({ error: `cut off: ${error.message}` }));
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error("timed out")));
    outgoing.on("error", (error) => answer({ error: error.message }));
    outgoing.end();
  });
}

async function requests(call: HttpCall, count: number, concurrency: number): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  // One alone gets a connection of its own: an older one would still be treated by the rules of its time.
  const agent = count === 1 ? new http.Agent() : agentFor(concurrency);
  const work = async (): Promise<void> => {
    while (count-- > 0) answers.push(await request(call, agent));
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return answers;
}

function connect({ address, port, sni, alpn, send }: ConnectCall): Promise<{ received: string; error: string }> {
  return new Promise((resolve) => {
    let received = "";
    const secure = { host: address, port, servername: sni ?? "", rejectUnauthorized: false };
    const socket =
      sni === undefined
        ? net.connect(port, address)
        : tls.connect({ ...secure, ...(alpn ? { ALPNProtocols: [...alpn] } : {}) });
    const done = (error = ""): void => {
      socket.destroy();
      resolve({ received, error });
    };
    socket.once(sni === undefined ? "connect" : "secureConnect", () => {
      socket.setTimeout(quietMs);
      if (send !== undefined) socket.write(send);
    });
    socket.setTimeout(5000);
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      received += chunk;
    });
    socket.on("timeout", () => done(received === "" ? "silent" : ""));
    socket.on("error", (error) => done(error.message));
    socket.on("close", () => done(received === "" ? "closed" : ""));
  });
}

const held: net.Socket[] = [];

async function silent(address: string, port: number, count: number): Promise<{ open: number }> {
  const one = (): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = net.connect(port, address, () => resolve(true));
      socket.on("error", () => resolve(false));
      held.push(socket);
    });
  const opened = await Promise.all(Array.from({ length: count }, one));
  return { open: opened.filter(Boolean).length };
}

const loads = new Map<number, { stop(): Promise<unknown>; report(): LoadReport }>();

function startLoad(spec: LoadSpec): number {
  const agent = new http.Agent({ keepAlive: true, maxSockets: spec.concurrency });
  const answers: Record<string, number> = {};
  const failures: string[] = [];
  let running = true;
  const work = async (): Promise<void> => {
    while (running) {
      const { status, body, error, headers } = await request(spec, agent);
      // A failure in full: the reason comes last in Envoy's text.
      const key = status === 200 ? `200 ${body.slice(0, 80)}` : `${status} ${(body || error).slice(0, 300)}`;
      answers[key] = (answers[key] ?? 0) + 1;
      if (status !== 200 && failures.length < 20)
        failures.push(`${new Date().toISOString()} ${key} ${error} ${JSON.stringify(headers)}`);
      if (spec.pauseMs) await sleep(spec.pauseMs);
    }
  };
  const all = Promise.all(Array.from({ length: spec.concurrency }, work));
  const id = loads.size + 1;
  loads.set(id, {
    report: () => ({ answers, failures }),
    stop: () => {
      running = false;
      return all.finally(() => agent.destroy());
    },
  });
  return id;
}

async function report(id: number, stop: boolean): Promise<LoadReport> {
  const load = loads.get(id);
  if (!load) return { answers: {}, failures: ["no such load"] };
  if (stop) await load.stop();
  return load.report();
}

async function carryOut(order: Order): Promise<unknown> {
  switch (order.kind) {
    case "requests":
      return requests(order.call, order.count, order.concurrency);
    case "connect":
      return connect(order.call);
    case "silent":
      return silent(order.address, order.port, order.count);
    case "load":
      return startLoad(order.spec);
    case "report":
      return report(order.load, order.stop);
  }
}

process.on("message", ({ id, order }: { id: number; order: Order }) => {
  void carryOut(order).then((value) => process.send?.({ id, value }));
});
process.on("disconnect", () => process.exit(0));
