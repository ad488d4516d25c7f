/** A process of its own that writes large objects one after the other over one HTTP/1.1 connection; says how many answers of each kind came. */
import { Agent, request } from "node:https";

interface Order {
  readonly url: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly prefix: string;
  readonly count: number;
}

const { url, ca, cert, key, prefix, count } = JSON.parse(process.argv[2] ?? "") as Order;
const path = "/api/v1/namespaces/default/configmaps";
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const data = { a: "x".repeat(80_000) };

function send(method: string, target: string, name: string): Promise<string> {
  const text = JSON.stringify({ metadata: { name }, data });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  return new Promise((resolve) => {
    const sent = request(`${url}${target}`, { method, ca, cert, key, agent, headers }, (answer) => {
      answer.resume();
      answer.on("end", () => resolve(String(answer.statusCode)));
      answer.on("error", (error) => resolve(error.message));
    });
    sent.on("error", (error) => resolve(error.message));
    sent.end(text);
  });
}

const answers: Record<string, number> = {};
const note = (answer: string): void => {
  answers[answer] = (answers[answer] ?? 0) + 1;
};
for (let i = 0; i < count; i++) note(await send("POST", path, `${prefix}${i}`));
for (let i = 0; i < count; i++) note(await send("PUT", `${path}/${prefix}${i}`, `${prefix}${i}`));
agent.destroy();
process.stdout.write(JSON.stringify(answers));
