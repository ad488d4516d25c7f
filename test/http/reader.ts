/** A process of its own that asks for one page again and again over one HTTP/1.1 connection; says how many answers of each kind came. */
import { Agent as PlainAgent, request as plainRequest } from "node:http";
import { Agent, request } from "node:https";

const [url = "", body = "", count = "0"] = process.argv.slice(2);
const secure = url.startsWith("https:");
const agent = new (secure ? Agent : PlainAgent)({ keepAlive: true, maxSockets: 1 });

function ask(): Promise<string> {
  return new Promise((resolve) => {
    const options = {
      method: body === "" ? "GET" : "POST",
      agent,
      rejectUnauthorized: false,
      headers: { "content-length": body.length },
    };
    const sent = (secure ? request : plainRequest)(url, options, (answer) => {
      let bytes = 0;
      answer.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      answer.on("end", () => resolve(`${answer.statusCode} with ${bytes}`));
      answer.on("error", (error) => resolve(error.message));
    });
    sent.on("error", (error) => resolve(error.message));
    sent.end(body);
  });
}

const answers: Record<string, number> = {};
for (let i = 0; i < Number(count); i++) {
  const answer = await ask();
  answers[answer] = (answers[answer] ?? 0) + 1;
}
agent.destroy();
process.stdout.write(JSON.stringify(answers));
