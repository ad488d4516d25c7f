/** A mesh of 1,000 services in a real browser: what is shown, what a filter finds, and how little its main thread does. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBrowser } from "./browser.ts";
import type { DashboardPlane } from "./dashboard-plane.ts";
import { openWatched, startLargeMesh } from "./large-mesh.ts";

/** Processor time, and many times what is needed: a busy machine does not reach it, work for each service does. */
const limitMs = 1000;

let [browser, mesh]: [Browser | undefined, DashboardPlane | undefined] = [undefined, undefined];

beforeAll(async () => {
  mesh = await startLargeMesh(1000);
  browser = await startBrowser();
});
afterAll(async () => {
  await browser?.close();
  await mesh?.close();
});

function open(path: string, sign: string) {
  if (!browser || !mesh) throw new Error("there is no browser on a mesh");
  return openWatched(browser, mesh.link(), path, sign);
}

test("the start page counts all services and leads on, within a second of the main thread", async () => {
  const { page, shownMs } = await open("/", ".verdict");
  expect(shownMs).toBeGreaterThan(0);
  expect(shownMs).toBeLessThan(limitMs);
  await page
    .locator(".figures div")
    .filter({ hasText: /^services\s*1,000$/ })
    .waitFor();
  await page.getByRole("link", { name: "Services", exact: true }).click();
  await page.getByText("1000 services", { exact: true }).waitFor();
});

test("the list of services is shown within a second of the main thread, and its filter finds one", async () => {
  const { page, shownMs } = await open("/services", "tbody tr");
  expect(shownMs).toBeGreaterThan(0);
  expect(shownMs).toBeLessThan(limitMs);
  await page.getByText("1000 services", { exact: true }).waitFor();
  await page.getByLabel("Filter").fill("svc-777.");
  await page.getByText("1 services", { exact: true }).waitFor();
  const rows = await page.locator("tbody tr").allInnerTexts();
  expect(rows).toEqual([expect.stringMatching(/^svc-777\.ns-7\.svc\.cluster\.local\s.*2 of 2 healthy$/)]);
});
