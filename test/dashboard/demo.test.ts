/** The page of the demo, in a real browser: the link that it prints, and a picture whose numbers are those of the requests that were sent. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { anyPort, fairlead, root, type Started, startFairlead } from "../e2e/fairlead.ts";
import { ask } from "../http/ask.ts";
import { lacks } from "../require.ts";
import { openPage, startBrowser, violationsInBothThemes, violationsOf } from "./browser.ts";

const sent = 40;

/** Among what a process has started, however deep. */
function controlPlaneOf(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
  const own = children.find((child) => readFileSync(`/proc/${child}/cmdline`, "utf8").includes("\0discovery\0"));
  return own ?? children.map(controlPlaneOf).find((found) => found > 0) ?? 0;
}

describe.skipIf(lacks("root", "envoy", "iptables"))("the demo", { timeout: 300_000 }, () => {
  const data = mkdtempSync(join(tmpdir(), "fairlead-page-"));
  let [demo, browser]: [Started | undefined, Browser | undefined] = [undefined, undefined];

  beforeAll(async () => {
    demo = startFairlead(["up", "--demo", "--data", data, ...anyPort], { FAIRLEAD_TAP_HEADERS: "user-agent" });
    await demo.until("ready\n");
    browser = await startBrowser();
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    demo?.child.kill("SIGTERM");
    await demo?.exited;
    rmSync(data, { recursive: true, force: true });
  });

  /** What is said to whoever starts it, after that it is ready. */
  const greeted = async (pattern: RegExp): Promise<string> => {
    const found = (): string => pattern.exec(demo?.stderr() ?? "")?.[0] ?? "";
    await expect.poll(found).not.toBe("");
    return found();
  };
  /** The cells of the row that begins so. */
  const row = async (page: Page, from: string, to: string): Promise<readonly string[]> => {
    const found = page.getByRole("row").filter({ hasText: from }).filter({ hasText: to });
    return (await found.count()) === 0 ? [] : await found.first().getByRole("cell").allTextContents();
  };

  test("draws every request that was sent, who asked whom, and that all were encrypted", async () => {
    const shop = await greeted(/http:\/\/\S+\/productpage/);
    for (let i = 0; i < sent; i++) expect((await fetch(shop)).status).toBe(200);
    if (!browser) throw new Error("there is no browser");
    const link = await greeted(/http:\/\/\S+#token=\S+/);
    const { page, complaints } = await openPage(browser, link, "/graph?namespace=default&last=600");
    const [gateway, product] = ["istio-system/istio-ingressgateway", "default/productpage-v1"];
    const count = async (from: string, to: string): Promise<number> => Number((await row(page, from, to))[3] ?? 0);
    const reviews = ["default/reviews-v1", "default/reviews-v2", "default/reviews-v3"];
    // Agents report at different times, so that all is not there at once. Before it was ready `up` has asked until all
    // were, so that the last ones of a chain may have been asked less often.
    const counted = async (): Promise<readonly number[]> => [
      await count(gateway, product),
      await count(product, "default/details-v1"),
      (await Promise.all(reviews.map((to) => count(product, to)))).reduce((sum, one) => sum + one, 0),
    ];
    const early = 20;
    const isWhole = (found: readonly number[]): boolean => found.every((one) => one >= sent && one <= sent + early);
    await expect.poll(async () => isWhole(await counted())).toBe(true);
    for (const to of reviews) expect((await row(page, product, to))[9]).toBe("mutual TLS");
    // The last of a chain may be told later than those who called it.
    await expect.poll(() => page.locator("svg.graph a").count()).toBe(7);
    expect(await violationsOf(page)).toEqual([]);

    await page.locator("svg.graph a").filter({ hasText: "reviews-v2" }).press("Enter");
    await page.getByRole("heading", { name: "default/reviews-v2", level: 1 }).waitFor();
    await page.getByRole("link", { name: "reviews-v2.default" }).waitFor();
    expect(complaints).toEqual([]);
  });

  test("marks the way to a host whose route delays requests, and who may ask at the place, in letters and in the table", async () => {
    const objects = [
      {
        ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService" },
        metadata: { name: "slow-details", namespace: "default" },
        spec: {
          hosts: ["details"],
          http: [
            {
              fault: { delay: { fixedDelay: "0.001s", percentage: { value: 100 } } },
              timeout: "9s",
              route: [{ destination: { host: "details" } }],
            },
          ],
        },
      },
      {
        ...{ apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy" },
        metadata: { name: "details-for-all", namespace: "default" },
        spec: { selector: { matchLabels: { app: "details" } }, rules: [{}] },
      },
    ];
    const file = join(data, "marks.json");
    writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
    const kubeconfig = join(data, "kubeconfig");
    await fairlead(["apply", "-f", file, "--kubeconfig", kubeconfig]);
    if (!browser) throw new Error("there is no browser");
    const { stdout } = await fairlead(["dashboard", "--no-browser", "--data", data]);
    const { page, complaints } = await openPage(browser, stdout.trim(), "/graph?namespace=default&last=600");
    const marks = async (from: string, to: string): Promise<string> => (await row(page, from, to))[10] ?? "";
    await expect
      .poll(() => marks("default/productpage-v1", "default/details-v1"))
      .toContain("fault: delay 0.001s for 100 % VirtualService/default/slow-details spec.http[0]");
    expect(await marks("default/productpage-v1", "default/details-v1")).toContain("timeout 9s");
    const places = page.getByRole("region", { name: "places" });
    await places.getByRole("row").filter({ hasText: "AuthorizationPolicy/default/details-for-all" }).waitFor();
    const words = await page.locator("svg.graph text").allTextContents();
    expect(words.filter((text) => /\/s F T$/.test(text))).toHaveLength(1);
    expect(words.filter((text) => /^details-v1 A/.test(text))).toHaveLength(1);
    expect(await violationsInBothThemes(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    await fairlead(["delete", "-f", file, "--kubeconfig", kubeconfig]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("shows live requests, and what strangers write in them as text", async () => {
    const shop = new URL(await greeted(/http:\/\/\S+\/productpage/));
    const { stdout } = await fairlead(["dashboard", "--no-browser", "--data", data]);
    if (!browser) throw new Error("there is no browser");
    const at = "/requests?workload=istio-ingressgateway&path=%2Fstrange&headers=user-agent";
    const { page, complaints } = await openPage(browser, stdout.trim(), at);
    await page.getByRole("button", { name: "Look" }).click();
    await page.getByText("0 requests of 1 proxies").waitFor();
    const hostile = `<img/src=x/onerror="window.pwned=1">`;
    const headers = { host: shop.host, "user-agent": hostile };
    const row = page.getByRole("row").filter({ hasText: "/strange/" }).first();
    // The agent may hear of it later than the page. Paths that begin otherwise are not noted.
    const send = async (): Promise<boolean> => {
      for (const path of ["/other", `/strange/${hostile}?secret`])
        expect((await ask(Number(shop.port), path, { headers })).status).toBe(404);
      return await row.isVisible();
    };
    await expect.poll(send, { interval: 500 }).toBe(true);
    expect(await row.textContent()).toMatch(/GET .*\/strange\/.*404.*user-agent: <img\/src=x/);
    expect(await page.getByRole("table").textContent()).not.toMatch(/secret|other/);
    expect(await page.evaluate("window.pwned")).toBeUndefined();
    expect(await violationsInBothThemes(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("explains a live request", async () => {
    const { stdout } = await fairlead(["dashboard", "--no-browser", "--data", data]);
    if (!browser) throw new Error("there is no browser");
    const { page } = await openPage(
      browser,
      stdout.trim(),
      "/requests?workload=productpage-v1&side=source&service=reviews",
    );
    await page.getByRole("button", { name: "Look" }).click();
    await page.getByText("0 requests of 1 proxies").waitFor();
    const shop = await greeted(/http:\/\/\S+\/productpage/);
    const why = page.getByRole("link", { name: "why GET reviews" }).first();
    const send = async (): Promise<boolean> => {
      expect((await fetch(shop)).status).toBe(200);
      return await why.isVisible();
    };
    await expect.poll(send, { interval: 500 }).toBe(true);
    await why.click();
    await page.getByText(/^reaches .* of outbound\|9080\|/).waitFor();
    expect(await page.getByLabel("Who calls", { exact: true }).inputValue()).toBe("productpage-v1.default");
    await page.getByRole("heading", { name: /reviews-v\d\.default/ }).waitFor();
    await page.context().close();
  });

  test("is shown as a cluster's is, through its API, to the user of a kubeconfig", async () => {
    const kubeconfig = join(data, "kubeconfig");
    const command = startFairlead(["dashboard", "--no-browser", "--edit", "--kubeconfig", kubeconfig]);
    try {
      await command.until("#token=");
      const context = await browser?.newContext();
      const page = await context?.newPage();
      if (!page) throw new Error("there is no browser");
      await page.goto(command.stdout().trim());
      await page.getByText("All is well.").waitFor();
      await page.getByRole("status").filter({ hasText: "live" }).first().waitFor();
      await page.getByRole("link", { name: "Services" }).click();
      await page.getByRole("link", { name: "reviews.default" }).first().waitFor();
      // What is applied here is applied with the kubeconfig, past the control plane.
      await page.goto(`${new URL(page.url()).origin}/edit`);
      const spec = "{ hosts: [edited.example], ports: [{ number: 80, name: http }], resolution: DNS }";
      const entry = `apiVersion: networking.istio.io/v1\nkind: ServiceEntry\nmetadata: { name: edited }\nspec: ${spec}\n`;
      await page.getByLabel("YAML").fill(entry);
      await page.getByText(/Something changes for \d of \d proxies/).waitFor();
      await page.getByRole("button", { name: "Apply" }).click();
      await page.getByText("Applied:").waitFor();
      expect((await fairlead(["get", "se", "edited", "--kubeconfig", kubeconfig])).stdout).toContain("edited");
      await fairlead(["delete", "se", "edited", "--kubeconfig", kubeconfig]);
      // Who the user is there, the browser never learns.
      const known = JSON.stringify(await page.evaluate("({ ...sessionStorage })"));
      expect(known).not.toContain("fairlead-claim");
      await context?.close();
    } finally {
      command.child.kill("SIGTERM");
      await command.exited;
    }
    const { stdout } = await fairlead(["get", "csr", "-o", "name", "--kubeconfig", kubeconfig]).catch(() => ({
      stdout: "",
    }));
    expect(stdout).not.toContain("fairlead-dashboard");
  });

  test("knows who has a change, and what it altered, also after its control plane was killed", async () => {
    const { stdout } = await fairlead(["dashboard", "--no-browser", "--data", data]);
    if (!browser) throw new Error("there is no browser");
    const { page } = await openPage(browser, stdout.trim(), "/changes?q=VirtualService%2Fdefault%2Freviews");
    const kubeconfig = { KUBECONFIG: join(data, "kubeconfig") };
    await fairlead(["apply", "-f", join(root, "demo/config/reviews-v1.yaml")], kubeconfig);
    const row = page.getByRole("row").filter({ hasText: "VirtualService/default/reviews" }).first();
    await row.getByText(/^(\d) of \1 have it$/).waitFor();
    await row.getByRole("link", { name: "lines more" }).click();
    // Real Envoys take hosts one by one, or the whole.
    await page.getByText(/RDS 9080 changed for/).waitFor();
    await page
      .getByText(/outbound\|9080\|v1\|reviews/)
      .first()
      .waitFor();
    const address = page.url();
    await expect.poll(() => readFileSync(join(data, "changes.jsonl"), "utf8")).toMatch(/"acknowledged":[1-9]/);
    process.kill(controlPlaneOf(demo?.child.pid ?? 0), "SIGKILL");
    await page.getByText("the control plane is away").waitFor();
    await page
      .getByRole("status")
      .filter({ hasText: /^live$/ })
      .first()
      .waitFor();
    await page.goto(address);
    await page.getByText(/^(\d) of \1 have it$/).waitFor();
    await page.getByText("kept only for the newest changes of one start").first().waitFor();
    await page.context().close();
  });

  test("gives another link when asked", async () => {
    const { stdout } = await fairlead(["dashboard", "--no-browser", "--data", data]);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=\S+\n$/);
    const page = await (await browser?.newContext())?.newPage();
    await page?.goto(stdout.trim());
    await page?.getByText("All is well.").waitFor();
  });
});
