/** For tests: a control plane with its page on a real API, and links to it. */
import { randomBytes } from "node:crypto";
import { request } from "node:http";
import { join } from "node:path";
import { type ControlledApi, startControlledApi } from "../../src/control-plane/controllers/testing.ts";
import type { Discovery, DiscoveryOptions } from "../../src/control-plane/index.ts";
import { allowSecrets, startPlane } from "../../src/control-plane/testing.ts";
import { oneTimeToken } from "../../src/dashboard/index.ts";

const free = { host: "127.0.0.1", port: 0 };

export interface DashboardPlane {
  readonly world: ControlledApi;
  plane(): Discovery;
  readonly secret: Uint8Array;
  origin(): string;
  /** A link that is good once. */
  link(): string;
  /** Ends the control plane; `start` brings it back at the same port. */
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export async function startDashboardPlane(options: Partial<DiscoveryOptions> = {}): Promise<DashboardPlane> {
  const world = await startControlledApi();
  await allowSecrets(world);
  const secret = randomBytes(32);
  const folder = join(import.meta.dirname, "../../dist/dashboard");
  const begin = (dashboard = free): Promise<Discovery> =>
    startPlane(world, {
      ...options,
      dashboard: { folder, secret },
      addresses: { grpc: free, secureGrpc: free, monitoring: free, https: free, http: free, dashboard },
    });
  let current = await begin();
  const port = current.addresses.dashboard?.port ?? 0;
  const origin = (): string => `http://127.0.0.1:${port}`;
  return {
    world,
    plane: () => current,
    secret,
    origin,
    link: () => `${origin()}/#token=${oneTimeToken(secret, Date.now())}`,
    stop: () => current.close(),
    async start() {
      current = await begin({ host: "127.0.0.1", port });
    },
    async close() {
      await current.close();
      await world.close();
    },
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Not `fetch`, which chooses its own Host and Origin. */
export function ask(
  origin: string,
  path: string,
  {
    method = "GET",
    headers = {},
    body = "",
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const { hostname: host, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const asked = request({ host, port, method, path, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    asked.on("error", reject).end(body);
  });
}

/** A bearer, as the page gets its own. */
export async function signIn({ origin, link }: DashboardPlane): Promise<string> {
  const token = link().split("#token=")[1] ?? "";
  const { text } = await ask(origin(), "/api/session", { method: "POST", body: JSON.stringify({ token }) });
  const { bearer } = JSON.parse(text) as { bearer: string };
  return bearer;
}
