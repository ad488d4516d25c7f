/** Large answers over connections that are used again and again: none is cut off, nor what follows it. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startStatusServer } from "../../src/agent/status-server.ts";
import { createCertificateAuthority, createSelfSignedBundle } from "../../src/ca/index.ts";
import { silentLogger } from "../../src/lib/index.ts";
import { createHttpServer } from "../../src/ops/index.ts";

const large = "x".repeat(90_000);
const times = 200;

async function answers(url: string, body = ""): Promise<unknown> {
  const reader = join(import.meta.dirname, "reader.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [reader, url, body, String(times)]);
  return JSON.parse(stdout);
}

async function tls(): Promise<{ readonly cert: string; readonly key: string }> {
  const now = (): Date => new Date();
  const bundle = await createSelfSignedBundle({ organization: "o", now: now() });
  return createCertificateAuthority({ bundle, now }).issueServing({ dns: ["a"], addresses: [] });
}

test.each([
  ["15014 and 8080", "http"],
  ["15017", "https"],
])("of the control plane on %s", async (_, scheme) => {
  const server = await createHttpServer({
    address: { host: "127.0.0.1", port: 0 },
    routes: new Map([["/large", async (request) => ({ status: 200, body: (await request.body()) || large })]]),
    ...(scheme === "https" ? { tls: await tls() } : {}),
    log: silentLogger,
  });
  const url = `${scheme}://127.0.0.1:${server.address.port}/large`;
  expect(await Promise.all([answers(url), answers(url, "y".repeat(90_000))])).toEqual([
    { "200 with 90000": times },
    { "200 with 90000": times },
  ]);
  await server.close();
});

test("of the agent", async () => {
  const dir = mkdtempSync(join(tmpdir(), "keep-alive-"));
  const server = await startStatusServer({
    host: "127.0.0.1",
    port: 0,
    readinessSocket: join(dir, "ready"),
    mergedMetricsSocket: join(dir, "metrics"),
    isOwn: async () => true,
    notReady: async () => large,
    envoyMetrics: async () => large,
    agentMetrics: () => large,
    proxyMetrics: () => [large, "\n", large],
    appMetrics: async () => "",
    appProbes: new Map(),
    appAddress: "127.0.0.1",
    onQuit: () => {},
    onDrain: async () => {},
    log: silentLogger,
  });
  const url = `http://127.0.0.1:${server.port}`;
  expect(await Promise.all([answers(`${url}/metrics`), answers(`${url}/healthz/ready`)])).toEqual([
    { "200 with 360001": times },
    { "503 with 90000": times },
  ]);
  await server.close();
  rmSync(dir, { recursive: true });
});
