/** For tests: a control plane with its page on a real API, and links to it. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ControlledApi, startControlledApi } from "../../src/control-plane/controllers/testing.ts";
import type { Discovery, DiscoveryOptions } from "../../src/control-plane/index.ts";
import { allowSecrets, startPlane } from "../../src/control-plane/testing.ts";
import { oneTimeToken } from "../../src/dashboard/index.ts";
import { loadKubeconfig } from "../../src/kube/index.ts";
import { type Answer, ask as askHttp, type Question } from "../http/ask.ts";

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

interface Surroundings {
  /** Whoever has the link may apply objects from the page. */
  readonly edit?: boolean;
  /** Writes what is in the API before the control plane starts. */
  readonly prepare?: (kubeconfig: string) => Promise<void>;
}

export async function startDashboardPlane(
  options: Partial<DiscoveryOptions> = {},
  { edit = false, prepare }: Surroundings = {},
): Promise<DashboardPlane> {
  const world = await startControlledApi();
  await allowSecrets(world);
  await prepare?.(world.api.kubeconfig);
  const secret = randomBytes(32);
  const own = mkdtempSync(join(tmpdir(), "fairlead-page-"));
  const folder = join(import.meta.dirname, "../../dist/dashboard");
  const ownerAccess = await loadKubeconfig({ paths: [world.api.kubeconfig], env: {} });
  const begin = (dashboard = free): Promise<Discovery> =>
    startPlane(world, {
      ...options,
      dashboard: {
        folder,
        secret,
        historyFile: join(own, "changes.jsonl"),
        ...(edit ? { edit: { ownerAccess } } : {}),
      },
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
      rmSync(own, { recursive: true, force: true });
    },
  };
}

/** Of the page's port. */
export const ask = (origin: string, path: string, question?: Question): Promise<Answer> =>
  askHttp(Number(new URL(origin).port), path, question);

/** A bearer, as the page gets its own. */
export async function signIn({ origin, link }: DashboardPlane): Promise<string> {
  const token = link().split("#token=")[1] ?? "";
  const { text } = await ask(origin(), "/api/session", { method: "POST", body: JSON.stringify({ token }) });
  const { bearer } = JSON.parse(text) as { bearer: string };
  return bearer;
}
