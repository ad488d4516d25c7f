/** The page in a real browser, on a control plane with a real API and proxies that answer as they are told to. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { connectProxy, type ScriptedProxy } from "../../src/control-plane/testing.ts";
import { startAgents } from "../../src/control-plane/traffic/testing.ts";
import { type Opened, openPage, startBrowser, violationsInBothThemes, violationsOf } from "./browser.ts";
import { ask, type DashboardPlane, signIn, startDashboardPlane } from "./dashboard-plane.ts";

/** HTML, a link that runs, the other direction of writing, and length, in whatever users may name or write. */
const hostile = `<img src=x onerror="window.pwned=1"><a href="javascript:window.pwned=1">x</a>\u202eevil\u202c`;

let [browser, mesh, proxy]: [Browser | undefined, DashboardPlane | undefined, ScriptedProxy | undefined] = [
  undefined,
  undefined,
  undefined,
];
const plane = (): DashboardPlane => {
  if (!mesh) throw new Error("the control plane is not there");
  return mesh;
};

const route = (name: string, more: object = {}) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name, namespace: "default", annotations: { note: hostile } },
  spec: {
    hosts: ["reviews.default.svc.cluster.local"],
    http: [{ match: [{ headers: { who: { exact: hostile } } }], route: [{ destination: { host: "reviews" } }] }],
    ...more,
  },
});

/** What holds for a host, of each kind. */
const policies = [
  {
    ...{ apiVersion: "networking.istio.io/v1", kind: "DestinationRule" },
    metadata: { name: "reviews", namespace: "default" },
    spec: {
      host: "reviews.default.svc.cluster.local",
      trafficPolicy: { outlierDetection: { consecutive5xxErrors: 7 } },
      subsets: [
        { name: "v1", labels: { version: "v1" } },
        { name: "v2", labels: { version: "v2" } },
      ],
    },
  },
  {
    ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService" },
    metadata: { name: "split", namespace: "default" },
    spec: {
      hosts: ["split.example"],
      http: [
        {
          route: [
            { destination: { host: "reviews.default.svc.cluster.local", subset: "v1" }, weight: 90 },
            { destination: { host: "reviews.default.svc.cluster.local", subset: "v2" }, weight: 10 },
          ],
          fault: { delay: { fixedDelay: "3s", percentage: { value: 5 } } },
          timeout: "2s",
        },
      ],
    },
  },
  {
    ...{ apiVersion: "security.istio.io/v1", kind: "PeerAuthentication" },
    metadata: { name: "default", namespace: "default" },
    spec: { mtls: { mode: "STRICT" } },
  },
  {
    ...{ apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy" },
    metadata: { name: "reviews", namespace: "default" },
    spec: { rules: [{ from: [{ source: { namespaces: ["default"] } }] }] },
  },
];

beforeAll(async () => {
  mesh = await startDashboardPlane({ analysis: true }, { edit: true });
  const service = { selector: { app: "reviews" }, ports: [{ name: "http", port: 80 }], clusterIP: "10.0.0.9" };
  const metadata = { name: "reviews", namespace: "default" };
  await mesh.world.create({ apiVersion: "v1", kind: "Service", metadata, spec: service });
  await mesh.world.create(route("reviews"));
  // It is the first change of all: kinds are watched each by itself, so that others could come before it.
  const [made, bearer] = [mesh, await signIn(mesh)];
  const question = { headers: { authorization: `Bearer ${bearer}` } };
  await vi.waitFor(
    async () =>
      expect((await ask(made.origin(), "/api/changes", question)).text).toContain("VirtualService/default/reviews"),
    { timeout: 120_000 },
  );
  for (const object of policies) await mesh.world.create(object);
  proxy = await connectProxy(mesh.plane(), "web.default", ["80"]);
  const agents = await startAgents(mesh.world);
  await agents.certify(mesh.plane(), "holder", "default");
  agents.close();
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  proxy?.close();
  await mesh?.close();
});

function open(path = "/", options: { colorScheme?: "light" | "dark"; width?: number } = {}): Promise<Opened> {
  if (!browser) throw new Error("there is no browser");
  const { colorScheme = "light", width = 1200 } = options;
  return openPage(browser, plane().link(), path, { colorScheme, viewport: { width, height: 800 } });
}

const told = async (path: string): Promise<string> =>
  (await ask(plane().origin(), `/api/${path}`, { headers: { authorization: `Bearer ${await signIn(plane())}` } })).text;

/** How many look at live requests, as the control plane counts them. */
async function taps(): Promise<number> {
  const { text } = await ask(`http://127.0.0.1:${plane().plane().addresses.monitoring.port}`, "/metrics");
  return Number(/^fairlead_traffic_taps (\d+)/m.exec(text)?.[1]);
}

const pages = [
  ["/", "What is wrong"],
  ["/graph", "No agent reports"],
  ["/workload?id=default%2Fnone", "There is no such thing"],
  ["/namespaces", "default"],
  ["/namespace?id=default", "AuthorizationPolicy/default/reviews"],
  ["/namespace?id=none", "There is no such thing"],
  ["/services", "reviews.default.svc.cluster.local"],
  ["/service?id=default%2Freviews.default.svc.cluster.local", "Nobody: requests to it get 503"],
  ["/proxies", "web.default"],
  ["/proxy?id=web.default", "virtualOutbound"],
  ["/proxy?id=web.default&type=RDS&name=80", "Service/default/reviews"],
  ["/objects", "VirtualService/default/reviews"],
  ["/object?id=VirtualService%2Fdefault%2Freviews", "RDS"],
  ["/edit", "A new object"],
  ["/edit?id=VirtualService%2Fdefault%2Freviews", "Nothing is changed yet."],
  ["/changes", "VirtualService/default/reviews"],
  ["/change?id=1", "VirtualService/default/reviews added"],
  ["/requests?workload=web&status=5xx", "for a minute at most"],
  ["/why?source=web.default&destination=reviews.default%2Fx", "Step by step"],
  ["/proxy?id=web.default&find=REVIEWS.default", "lines in"],
  ["/identity", "sa/holder"],
] as const;

test("every page, by its address alone: no violation of WCAG, in light and dark", async () => {
  const { page, complaints } = await open();
  for (const [path, words] of pages) {
    await page.goto(plane().origin() + path);
    await page.getByText(words).first().waitFor();
    expect([path, await violationsInBothThemes(page)]).toEqual([path, []]);
    expect(await page.title()).toContain("Fairlead");
  }
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("what users wrote is text, wherever it is shown", async () => {
  const { page, complaints } = await open("/object?id=VirtualService%2Fdefault%2Freviews");
  await page.getByText("onerror").first().waitFor();
  for (const [path, words] of [
    ["/edit?id=VirtualService%2Fdefault%2Freviews", "Nothing is changed yet."],
    ["/changes", "lines more"],
    ["/change?id=1", "onerror"],
    ["/proxy?id=web.default&type=RDS&name=80", "onerror"],
    [`/objects?q=${encodeURIComponent(hostile)}`, "Clear the filter"],
    [`/proxy?id=${encodeURIComponent(hostile)}`, "There is no such thing"],
    [`/why?source=${encodeURIComponent(hostile)}&destination=reviews`, "no proxy is called"],
    [`/why?source=web&destination=reviews&headers=${encodeURIComponent(`who: ${hostile}`)}`, "Step by step"],
  ] as const) {
    await page.goto(plane().origin() + path);
    await page.getByText(words).first().waitFor();
    expect(await page.locator('img, a[href^="javascript"], script:not([src])').count()).toBe(0);
  }
  expect(await page.evaluate("window.pwned")).toBeUndefined();
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("a service has its versions, routes with weights and marks, and what holds, each with who said so", async () => {
  const { page } = await open("/service?id=default%2Freviews.default.svc.cluster.local");
  const cells = async (words: string): Promise<string> =>
    (await page.getByRole("row").filter({ hasText: words }).first().getByRole("cell").allTextContents()).join(" | ");
  await expect.poll(() => cells("90 %")).toContain("VirtualService/default/split spec.http[0]");
  expect(await cells("90 %")).toMatch(/all \| 90 % v110 % v2 \| fault: delay 3s for 5 %, timeout 2s/);
  expect(await cells("subsets[1]")).toMatch(
    /v2 \| 0 of 0 healthy \| DestinationRule\/default\/reviews spec.subsets\[1\]/,
  );
  expect(await cells("7 errors in a row")).toContain("spec.trafficPolicy.outlierDetection");
  await page.getByRole("link", { name: "default", exact: true }).first().click();
  await page.getByRole("heading", { name: "Namespace default" }).waitFor();
  await expect
    .poll(() => cells("mutual TLS"))
    .toBe("mutual TLS | STRICT | PeerAuthentication/default/default spec.mtls.mode");
  expect(await cells("ALLOW")).toBe("authorization | ALLOW, 1 rule | AuthorizationPolicy/default/reviews spec");
  await page.context().close();
});

test("what a proxy is sent is looked through as a whole, and what is found leads to its resource", async () => {
  const { page } = await open("/proxy?id=web.default");
  await page.getByLabel("Find in all").fill("consecutive5xx");
  const found = page.getByRole("region", { name: "found" });
  await found.getByRole("row").filter({ hasText: 'consecutive5xx": 7' }).first().waitFor();
  expect(new URL(page.url()).searchParams.get("find")).toBe("consecutive5xx");
  await found.getByRole("link", { name: "CDS" }).first().click();
  await page.getByRole("heading", { name: "As Envoy has it" }).waitFor();
  await page.getByLabel("Find in all").fill(hostile);
  await page.getByText("0 lines in").waitFor();
  await page.context().close();
});

test("a change is seen as it arrives, who has it too, and a bad one with its remedy", async () => {
  const { page } = await open("/changes");
  await page.getByRole("status").filter({ hasText: "live" }).waitFor();
  await plane().world.create(route("arrives", { hosts: ["arrives.example"] }));
  const row = page.getByRole("row").filter({ hasText: "VirtualService/default/arrives" });
  await row.getByText("1 of 1 have it").waitFor();
  expect(await row.textContent()).toContain("fairlead");
  await row.getByRole("link", { name: "lines more" }).click();
  await page.getByRole("heading", { name: "VirtualService/default/arrives added" }).waitFor();
  await page.getByText("added for 1 proxy").or(page.getByText("changed for 1 proxy")).first().waitFor();
  await page.getByText(/^\+ virtualHosts\[arrives\.example:80\]/).waitFor();
  await page.reload();
  await page.getByText("1 of 1 have it").waitFor();
  await page.getByRole("link", { name: "VirtualService/default/arrives" }).click();
  await page.getByRole("heading", { name: "Who has it" }).waitFor();
  await page.getByRole("status").filter({ hasText: "acknowledged generation 1" }).waitFor();
  await page.getByRole("link", { name: "What is wrong" }).click();
  await plane().world.create({
    ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService" },
    metadata: { name: "lost", namespace: "default" },
    spec: { hosts: ["lost.example"], http: [{ route: [{ destination: { host: "nowhere.default" } }] }] },
  });
  const finding = page.getByRole("listitem").filter({ hasText: "VirtualService/default/lost" });
  await finding.first().waitFor();
  await expect.poll(() => finding.first().textContent()).toContain("Change the object");
  await page.context().close();
});

test("what Envoy refuses is the first thing, with the object and its words", async () => {
  await proxy?.answer((response) => (response.typeUrl.endsWith("RouteConfiguration") ? "no such thing" : undefined));
  await plane().world.create(route("refused", { hosts: ["refused.example"] }));
  const { page } = await open("/");
  const first = page.getByRole("listitem").filter({ hasText: "refused by Envoy" }).first();
  await expect.poll(() => first.textContent()).toContain("no such thing");
  await page.getByRole("link", { name: "Proxies" }).click();
  await page.getByText("refuses").first().waitFor();
  await page.getByRole("link", { name: "Changes" }).click();
  const row = page.getByRole("row").filter({ hasText: "VirtualService/default/refused" });
  await row.getByText(/web\.default refused RDS 80.*no such thing/).waitFor();
  await proxy?.answer(() => undefined);
  await page.context().close();
});

test("live requests are looked at when asked, wait while the tab is hidden, and end by themselves", async () => {
  const { page, complaints } = await open("/requests?workload=web&status=5xx&headers=user-agent");
  expect(await page.getByLabel("Workload", { exact: true }).inputValue()).toBe("web");
  const look = page.getByRole("button", { name: "Look" });
  await look.click();
  await page.getByRole("alert").filter({ hasText: "FAIRLEAD_TAP_HEADERS names those that may" }).waitFor();
  await page.getByLabel("with header user-agent").uncheck();
  await page.getByLabel("Path begins with").fill(hostile);
  await expect.poll(() => new URL(page.url()).searchParams.get("path")).toBe(hostile);
  await look.press("Enter");
  await page.getByText("Agents are asked.").waitFor();
  await expect.poll(taps).toBe(1);
  await page.getByText("No proxy that reports").waitFor();
  const hide = (isHidden: boolean) =>
    page.evaluate(
      `Object.defineProperty(document, "hidden", { configurable: true, value: ${isHidden} });` +
        `document.dispatchEvent(new Event("visibilitychange"))`,
    );
  await hide(true);
  await page.getByText("Paused while this tab is hidden").waitFor();
  await expect.poll(taps).toBe(0);
  await hide(false);
  await expect.poll(taps).toBe(1);
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("Stopped. Agents note nothing more").waitFor();
  await expect.poll(taps).toBe(0);
  await page.getByLabel("Seconds").fill("1");
  await look.click();
  await page.getByText("It has ended by itself").waitFor();
  await look.click();
  await expect.poll(taps).toBe(1);
  await page.getByRole("link", { name: "Proxies" }).click();
  await expect.poll(taps).toBe(0);
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("why: a question that is asked, its answer with the objects that decided, and no secret in the address", async () => {
  const { page, complaints } = await open("/why");
  await page.getByLabel("Who calls", { exact: true }).fill("web.default");
  await page.getByLabel("Whom", { exact: true }).fill("reviews.default/x");
  await page.locator("summary", { hasText: "More of the request" }).click();
  await page.getByLabel("Headers").fill("x-user: jason\nAuthorization: Bearer abc.def");
  await page.getByLabel("Token").fill("secret-token");
  await page.getByLabel("Method").press("Enter");
  await page.getByText(/^404 NR/).waitFor();
  const address = new URL(page.url());
  expect(Object.fromEntries(address.searchParams)).toEqual({
    ...{ source: "web.default", destination: "reviews.default/x", headers: "x-user: jason" },
  });
  await page
    .getByRole("link", { name: /Service\/default\/reviews/ })
    .first()
    .waitFor();
  await page
    .getByRole("link", { name: /^RDS 80$/ })
    .first()
    .click();
  await page.getByRole("heading", { name: "RDS 80" }).waitFor();
  await page.goBack();
  await page.getByText(/^404 NR/).waitFor();
  await page.reload();
  await page.getByText(/^404 NR/).waitFor();
  expect(await page.getByLabel("Token").inputValue()).toBe("");
  await page.getByLabel("Whom", { exact: true }).fill("ftp://reviews");
  await page.getByRole("button", { name: "Ask" }).click();
  await page.getByRole("alert").filter({ hasText: "ftp:// is not known" }).waitFor();
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("an edit is judged as it is typed, applied when that is said, and what others have set is theirs until taken over", async () => {
  await plane().world.create(route("edited", { hosts: ["edited.example"] }));
  await expect.poll(() => told("object?id=VirtualService/default/edited")).toContain("edited.example");
  const { page, complaints } = await open("/object?id=VirtualService%2Fdefault%2Fedited");
  await page.getByRole("link", { name: "Edit it" }).click();
  const text = page.getByLabel("YAML");
  const apply = page.getByRole("button", { name: "Apply" });
  await expect.poll(() => text.inputValue()).toContain("edited.example");
  await page.getByText("Nothing is changed yet.").waitFor();
  const before = await text.inputValue();
  await text.fill(before.replace("hosts:", "hostz:"));
  await page
    .getByText(/would be refused/)
    .first()
    .waitFor();
  expect(await apply.isDisabled()).toBe(true);
  await text.fill("a: [");
  await page.getByRole("alert").first().waitFor();
  expect(await apply.isDisabled()).toBe(true);
  await text.fill(before.replace("host: reviews", "host: nowhere"));
  await page.getByText("IST0101").first().waitFor();
  const after = before.replace("spec:\n", "spec:\n  # longer\n").replace("edited.example", "other.example");
  await text.fill(after);
  await page.getByText(/Something changes for \d of \d prox/).waitFor();
  await page
    .getByText(/RouteConfiguration/)
    .first()
    .click();
  await page
    .getByText(/other\.example/)
    .first()
    .waitFor();
  // What was typed is there after the page was loaded again.
  await page.reload();
  await expect.poll(() => text.inputValue()).toBe(after);
  expect(await violationsInBothThemes(page)).toEqual([]);
  await expect.poll(() => apply.isEnabled()).toBe(true);
  await apply.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("alert").filter({ hasText: "take them over" }).waitFor();
  await page.getByLabel("take over fields").check();
  await apply.click();
  await page.getByText("Applied:").waitFor();
  await page.getByRole("link", { name: "VirtualService/default/edited" }).last().click();
  // The status that the API has of it may say so too, in the YAML.
  await page.getByRole("status").filter({ hasText: "acknowledged generation 2" }).waitFor();
  expect(await page.getByText("fairlead-dashboard").count()).toBeGreaterThan(0);
  expect(complaints).toEqual([]);
  await page.context().close();
});

test("back and forward, a filter in the address, and a narrow window", async () => {
  const { page } = await open("/", { width: 360 });
  await page.getByRole("link", { name: "Objects" }).click();
  await page.getByLabel("Filter").fill("nothing has this");
  await page.getByText("Clear the filter").waitFor();
  expect(new URL(page.url()).search).toBe("?q=nothing+has+this");
  await page.reload();
  await page.getByText("Clear the filter").waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "What is wrong" }).waitFor();
  await page.goForward();
  await page.getByText("Clear the filter").waitFor();
  for (const [path, words] of pages) {
    await page.goto(plane().origin() + path);
    await page.getByText(words).first().waitFor();
    const wide = await page.evaluate("document.documentElement.scrollWidth");
    expect({ path, wide }).toEqual({ path, wide: 360 });
  }
  await page.context().close();
});

test("by keyboard alone", async () => {
  const { page } = await open("/");
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
  const focused = (): Promise<unknown> => page.evaluate("document.activeElement.textContent");
  for (let i = 0; i < 12 && (await focused()) !== "Proxies"; i++) await page.keyboard.press("Tab");
  expect(await focused()).toBe("Proxies");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Proxies", level: 1 }).waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("H1");
  await page.context().close();
});

test("two tabs, and a control plane that is started again under them", async () => {
  const { page } = await open("/proxies");
  const other = await page.context().newPage();
  await other.goto(plane().link());
  for (const tab of [page, other]) await tab.getByRole("status").filter({ hasText: "live" }).first().waitFor();
  await plane().stop();
  for (const tab of [page, other]) await tab.getByText("the control plane is away").waitFor();
  await plane().start();
  for (const tab of [page, other])
    await tab
      .getByRole("status")
      .filter({ hasText: /^live$/ })
      .first()
      .waitFor();
  // What was changed before is still known, and whose fields were altered is not.
  await page.getByRole("link", { name: "Changes" }).click();
  const row = page.getByRole("row").filter({ hasText: "VirtualService/default/arrives" });
  await row.getByText("1 of 1 have it").waitFor();
  await row.getByRole("link", { name: "lines more" }).click();
  await page.getByText("kept only for the newest changes of one start").first().waitFor();
  await page.context().close();
});

test("whoever has a token of the API signs in with it, and sees what the API lets them", async () => {
  const agents = await startAgents(plane().world);
  const token = await agents.token("nobody-much", "default", []);
  agents.close();
  const context = await browser?.newContext({ viewport: { width: 360, height: 800 } });
  const page = await context?.newPage();
  if (!page) throw new Error("there is no browser");
  await page.goto(`${plane().origin()}/services`);
  await page.getByRole("heading", { name: "Not signed in" }).waitFor();
  expect(await violationsOf(page)).toEqual([]);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  await page.getByLabel("token").fill("none");
  await page.keyboard.press("Enter");
  await page.getByText("sign-in has ended").waitFor();
  await page.getByLabel("token").fill(token);
  await page.keyboard.press("Enter");
  await page.getByText("There is no Service yet").waitFor();
  await page.getByRole("status").filter({ hasText: "live" }).first().waitFor();
  await context?.close();
});

test("a link that was used, and an address that is none", async () => {
  const link = plane().link();
  const context = await browser?.newContext();
  const page = await context?.newPage();
  if (!page) throw new Error("there is no browser");
  await page.goto(link);
  await page.getByRole("heading", { name: "What is wrong" }).waitFor();
  expect(page.url()).not.toContain("token");
  await page.goto(`${plane().origin()}/object?id=VirtualService%2Fdefault%2Fnone`);
  await page.getByText("There is no such thing").waitFor();
  const stranger = await browser?.newContext();
  const late = await stranger?.newPage();
  await late?.goto(link);
  await late?.getByText("used or is too old").waitFor();
  await context?.close();
  await stranger?.close();
});
