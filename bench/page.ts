/**
 * `npm run bench -- page`: what a browser's main thread does to show the mesh, on meshes of 40, 300 and 1,000 services, and
 * how much is loaded. Needs Debian's chromium.
 *
 *   npm run bench -- page --services 40,300,1000
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { startBrowser } from "../test/dashboard/browser.ts";
import { openWatched, startLargeMesh } from "../test/dashboard/large-mesh.ts";

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
  const mesh = await startLargeMesh(services);
  try {
    const figures: string[] = [];
    for (const [path, sign] of [
      ["/", ".verdict"],
      ["/services", "tbody tr"],
      ["/objects", "tbody tr"],
    ] as const) {
      const tab = await openWatched(browser, mesh.link(), path, sign);
      figures.push(`${path} ${Math.round(tab.shownMs)} ms`);
      await tab.close();
    }
    process.stdout.write(`${services} services, processor of the main thread to shown: ${figures.join(", ")}\n`);
  } finally {
    await mesh.close();
  }
}
