/**
 * The client's own process, inside its Pod: steady requests out, by name and without a second try; what came of them is
 * taken over a socket. Arguments: the socket, and the streams as JSON.
 */
import { rmSync } from "node:fs";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Failure, StreamSpec, Taken } from "./load.ts";

const [socketPath = "", spec = "[]"] = process.argv.slice(2);
const timeoutMs = 20_000;
let last = 0;
let taken = empty();
let generation = "";

function empty(): { requests: number; slowestMs: number; failures: Failure[] } {
  return { requests: 0, slowestMs: 0, failures: [] };
}

function ask(stream: StreamSpec, agent: http.Agent | false): Promise<void> {
  const id = `${process.pid}-${++last}`;
  const startedAt = Date.now();
  const started = performance.now();
  return new Promise((resolve) => {
    let done = false;
    const finish = (status: number, text: string): void => {
      if (done) return;
      done = true;
      taken.requests++;
      taken.slowestMs = Math.max(taken.slowestMs, performance.now() - started);
      if (status !== 200)
        taken.failures.push({
          id,
          stream: stream.name,
          startedAt,
          endedAt: Date.now(),
          status,
          text: text.slice(0, 300),
        });
      resolve();
    };
    const outgoing = http.get(stream.url, { agent, headers: { "x-chaos-id": id }, timeout: timeoutMs }, (response) => {
      let body = "";
      generation = String(response.headers["x-generation"] ?? generation);
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => finish(response.statusCode ?? 0, body));
      response.on("error", (error) => finish(0, `cut off: ${error.message}`));
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error(`no answer in ${timeoutMs} ms`)));
    outgoing.on("error", (error) => finish(0, error.message));
  });
}

async function work(stream: StreamSpec, agent: http.Agent | false): Promise<never> {
  for (;;) {
    await ask(stream, agent);
    await sleep(stream.pauseMs);
  }
}

const streams: readonly StreamSpec[] = JSON.parse(spec);
for (const stream of streams) {
  const agent = stream.fresh ? false : new http.Agent({ keepAlive: true, maxSockets: stream.workers });
  for (let i = 0; i < stream.workers; i++) void work(stream, agent);
}

// Of an earlier life.
rmSync(socketPath, { force: true });
http
  .createServer((_, response) => {
    const answer: Taken = { ...taken, generation };
    taken = empty();
    response.end(JSON.stringify(answer));
  })
  .listen(socketPath);
