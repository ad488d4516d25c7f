/**
 * `npm run bench -- page`: what a browser's main thread does to show the mesh, on meshes of 40, 300 and 1,000 services, and
 * how much is loaded. Needs Debian's chromium.
 *
 *   npm run bench -- page --services 40,300,1000
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { startBrowser } from "../test/dashboard/browser.ts";
import { openApi } from "./scale/mesh-api.ts";
import { scenario } from "./scale/scenario.ts";
import { startStandalone } from "./scale/server.ts";

const { values } = parseArgs({ options: { services: { type: "string", default: "40,300,1000" } } });
const root = join(import.meta.dirname, "..");

const loaded = ["app.js", "app.css", "index.html"].map(
  (file) => [file, gzipSync(readFileSync(join(root, "dist/dashboard", file)), { level: 9 }).length] as const,
);
process.stdout.write(`loaded, compressed: ${loaded.map(([file, bytes]) => `${file} ${bytes} B`).join(", ")}\n`);
const browser = await startBrowser();
try {
  for (const services of values.services.split(",").map(Number)) await measure(browser, services);
} finally {
  await browser.close();
}

async function measure(browser: Browser, services: number): Promise<void> {
  const server = await startStandalone();
  const api = await openApi(server.kubeconfig);
  try {
    const objects = scenario({ services, endpoints: 2, namespaces: 10, routed: Math.min(100, services) });
    await api.apply(objects.filter(({ kind }) => kind === "Namespace"));
    await api.apply(objects.filter(({ kind }) => kind !== "Namespace"));
    const figures: string[] = [];
    for (const [path, sign] of [
      ["/", ".verdict"],
      ["/services", "tbody tr"],
      ["/objects", "tbody tr"],
    ] as const)
      figures.push(`${path} ${Math.round(await shownMs(browser, dirname(server.kubeconfig), path, sign))} ms`);
    process.stdout.write(`${services} services, processor of the main thread to shown: ${figures.join(", ")}\n`);
  } finally {
    api.close();
    await server.stop();
  }
}

/** In a tab of its own, so that nothing is there before. */
async function shownMs(browser: Browser, data: string, path: string, sign: string): Promise<number> {
  const link = new URL(execFileSync(join(root, "fairlead"), ["dashboard", "--no-browser", "--data", data]).toString());
  link.pathname = path;
  const page = await (await browser.newContext({ viewport: { width: 1200, height: 800 } })).newPage();
  const session = await page.context().newCDPSession(page);
  // Of the thread itself: what others do on this machine does not count.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto(link.href);
  await page.locator(sign).first().waitFor();
  const { metrics } = await session.send("Performance.getMetrics");
  await page.context().close();
  return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1000;
}
