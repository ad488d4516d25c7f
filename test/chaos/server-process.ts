/** The process of a workload: answers with its name, or asks `/via/NEXT/…` on behalf of the caller; tries nothing twice. */
import http from "node:http";

const name = process.env.HOSTNAME ?? "";
/** Work takes a moment, so that there is always something under way. */
const workMs = 2;
const agent = new http.Agent({ keepAlive: true });

function ask(host: string, path: string, id: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve) => {
    const outgoing = http.get(
      { host, port: 8000, path, agent, headers: { "x-chaos-id": id }, timeout: 15_000 },
      (response) => {
        let body = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          body += chunk;
        });
        response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
        response.on("error", (error) => resolve({ status: 0, body: error.message }));
      },
    );
    outgoing.on("timeout", () => outgoing.destroy(new Error("timed out")));
    outgoing.on("error", (error) => resolve({ status: 0, body: error.message }));
  });
}

async function answer(path: string, id: string): Promise<{ status: number; body: string }> {
  const [, via, next, ...rest] = path.split("/");
  if (via !== "via" || next === undefined) return { status: 200, body: name };
  const asked = await ask(next, rest.length > 0 ? `/via/${rest.join("/")}` : "/", id);
  if (asked.status === 200) return { status: 200, body: `${name} ${asked.body}` };
  return { status: 502, body: `${name} got ${asked.status} ${asked.body} from ${next}` };
}

// Idle connections are the proxy's to end: one whose time ran out while this process was stopped would be reset when it goes
// on, together with the request that has come on it meanwhile.
const server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => {
  const id = request.headers["x-chaos-id"];
  setTimeout(async () => {
    const { status, body } = await answer(request.url ?? "/", typeof id === "string" ? id : "");
    response.writeHead(status, { "content-type": "text/plain" });
    response.end(body);
  }, workMs);
});
server.listen(Number(process.env.PORT));
