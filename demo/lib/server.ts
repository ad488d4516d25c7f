/** A port and a handler in, a small HTTP server out; and calls to other services that carry a request's tracing headers on. */
import { createServer, type IncomingHttpHeaders, request } from "node:http";

export interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly body: string;
}

export type Handler = (url: URL, headers: IncomingHttpHeaders) => Promise<Answer> | Answer;

/** Headers that belong to the request of the user, not to one hop of it. */
const carried = [
  "end-user",
  "x-request-id",
  "traceparent",
  "tracestate",
  "b3",
  "x-b3-traceid",
  "x-b3-spanid",
  "x-b3-sampled",
  "cookie",
  "user-agent",
];

export function serve(handler: Handler): void {
  const port = Number(process.env.PORT ?? 9080);
  const server = createServer((req, res) => {
    const url = URL.parse(req.url ?? "/", "http://localhost");
    if (!url) {
      res.writeHead(400).end();
      return;
    }
    Promise.resolve()
      .then(() => own(url, req.headers) ?? handler(url, req.headers))
      .catch((error: unknown): Answer => ({ status: 500, body: error instanceof Error ? error.message : "failed" }))
      .then(({ status = 200, type = "text/plain", body }) => {
        res.writeHead(status, { "content-type": type, "x-served-by": process.env.HOSTNAME ?? "" });
        res.end(body);
      });
  });
  server.listen(port, "0.0.0.0");
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.on(signal, () => {
      server.close(() => process.exit(0));
      server.closeAllConnections();
    });
}

/** Paths that every server of the sample answers: its health, and who the sidecar says has called. */
function own(url: URL, headers: IncomingHttpHeaders): Answer | undefined {
  if (url.pathname === "/health") return { body: "ok" };
  if (!url.pathname.endsWith("/peer")) return undefined;
  return json({ xfcc: headers["x-forwarded-client-cert"] ?? "" });
}

export interface Reply {
  readonly status: number;
  readonly body: string;
}

/** Calls another service; a service that cannot be reached is status 0 with the cause as body. */
export function call(url: string, headers: IncomingHttpHeaders, timeoutMs = 10_000): Promise<Reply> {
  const passed = Object.fromEntries(
    carried.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  );
  return new Promise((resolve) => {
    const req = request(url, { headers: passed, timeout: timeoutMs, agent: false }, (res) => {
      let body = "";
      res.setEncoding("utf8");
      res.on("data", (chunk: string) => {
        body += chunk;
      });
      res.on("end", () => resolve({ status: res.statusCode ?? 0, body }));
    });
    req.on("timeout", () => req.destroy(new Error("no answer in time")));
    req.on("error", (error) => resolve({ status: 0, body: error.message }));
    req.end();
  });
}

export function json(value: unknown, status = 200): Answer {
  return { status, type: "application/json", body: `${JSON.stringify(value)}\n` };
}

export function escapeHtml(text: string): string {
  const entities = new Map([
    ["&", "&amp;"],
    ["<", "&lt;"],
    [">", "&gt;"],
    ['"', "&quot;"],
    ["'", "&#39;"],
  ]);
  return text.replace(/[&<>"']/g, (c) => entities.get(c) ?? c);
}
