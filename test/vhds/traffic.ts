/** Listeners and the states that their routes were wanted in, in; requests, and those that were answered as no state has it, out. */
import { Agent, request } from "node:http";
import { wait } from "../../src/lib/index.ts";
import type { Random } from "../random.ts";
import { answerOf, isBad, type State } from "./world.ts";

export interface TrafficTarget {
  readonly route: string;
  readonly port: number;
  states(): readonly State[];
  /** The oldest state that Envoy may still be in. */
  since(): number;
}

export interface Traffic {
  readonly requests: number;
  readonly wrong: readonly string[];
  stop(): Promise<void>;
}

const domains = ["a", "b", "c", "d", "e", "f", "x.wild", "pre.z", "nobody"];
const pauseMs = 3;

export function startTraffic(targets: readonly TrafficTarget[], random: Random): Traffic {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const stop = new AbortController();
  const wrong: string[] = [];
  let requests = 0;

  async function ask(target: TrafficTarget): Promise<void> {
    const domain = random.pick(domains);
    const since = target.since();
    const answer = await get(agent, target.port, domain).catch((error: Error) => `no answer: ${error.message}`);
    const possible = target.states().slice(since);
    requests++;
    if (answer.startsWith("no answer:") && possible.some(({ live }) => !live)) return;
    const answers = new Set(possible.map((state) => answerOf(state, domain)));
    if (beganBad(possible)) answers.add("404");
    if (answers.has(answer)) return;
    wrong.push(`${domain} on ${target.route}: ${answer} instead of ${[...answers].join(" or ")}`);
  }

  async function run(target: TrafficTarget): Promise<void> {
    while (!stop.signal.aborted) {
      await ask(target);
      await wait(pauseMs);
    }
  }

  const running = targets.map(run);
  return {
    get requests() {
      return requests;
    },
    wrong,
    async stop() {
      stop.abort();
      await Promise.all(running);
      agent.destroy();
    },
  };
}

/** A listener came while its routes were such that Envoy refuses them: it has none then, in whatever way they are sent. */
const beganBad = (states: readonly State[]): boolean =>
  states.some((state, at) => state.live && isBad(state) && states.slice(0, at).some(({ live }) => !live));

function get(agent: Agent, port: number, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = request({ agent, port, host: "127.0.0.1", headers: { host } }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve(response.statusCode === 200 ? body : `${response.statusCode}`));
      response.on("error", reject);
    });
    // A connection to a listener that has gone meanwhile says nothing of the one that is there now.
    asked.on("error", (error) => (asked.reusedSocket ? resolve(get(agent, port, host)) : reject(error)));
    asked.end();
  });
}
