/** `npm run screenshots`: the demo, with some traffic, as the page shows it, into docs/images. Needs root and Debian's chromium. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { anyPort, fairlead, root, startFairlead } from "../e2e/fairlead.ts";
import { openPage, startBrowser } from "./browser.ts";

const pictures = [
  ["traffic", "/graph?namespace=default", "light"],
  ["start", "/", "light"],
  ["proxy", "/proxy?id=productpage-v1.default&type=RDS&name=9080", "dark"],
  ["why", "/why?source=productpage-v1.default&destination=reviews:9080/reviews/1", "light"],
] as const;

const data = mkdtempSync(join(tmpdir(), "fairlead-pictures-"));
const folder = join(root, "docs/images");
mkdirSync(folder, { recursive: true });
const demo = startFairlead(["up", "--demo", "--data", data, ...anyPort]);
const browser = await startBrowser();
try {
  await demo.until("ready\n");
  while (!demo.stderr().includes("/productpage")) await wait(100);
  const shop = /http:\/\/\S+\/productpage/.exec(demo.stderr())?.[0] ?? "";
  for (let i = 0; i < 120; i++) await (await fetch(shop)).text();
  // Agents report every ten seconds.
  await wait(12_000);
  for (const [name, path, colorScheme] of pictures) {
    const { stdout } = await fairlead(["dashboard", "--no-browser", "--data", data]);
    const { page } = await openPage(browser, stdout.trim(), path, {
      colorScheme,
      viewport: { width: 1000, height: 560 },
    });
    // The stream never ends, so that the network is never idle.
    await wait(1_000);
    await page.screenshot({ path: join(folder, `${name}.png`) });
    await page.context().close();
  }
} finally {
  await browser.close();
  demo.child.kill("SIGTERM");
  await demo.exited;
  rmSync(data, { recursive: true, force: true });
}
