/** For tests: a control plane with a mesh of many services, and tabs that tell what their main thread had to do. */
import type { Browser, Page } from "playwright-core";
import { openApi } from "../../bench/scale/mesh-api.ts";
import { scenario } from "../../bench/scale/scenario.ts";
import { type DashboardPlane, startDashboardPlane } from "./dashboard-plane.ts";

/** The objects are there before the control plane is: following them one by one is not what is looked at. */
export const startLargeMesh = (services: number): Promise<DashboardPlane> =>
  startDashboardPlane({}, { prepare: (kubeconfig) => applyServices(kubeconfig, services) });

async function applyServices(kubeconfig: string, services: number): Promise<void> {
  const api = await openApi(kubeconfig);
  try {
    const objects = scenario({ services, endpoints: 2, namespaces: 10, routed: Math.min(100, services) });
    await api.apply(objects.filter(({ kind }) => kind === "Namespace"));
    await api.apply(objects.filter(({ kind }) => kind !== "Namespace"));
  } finally {
    api.close();
  }
}

export interface WatchedTab {
  readonly page: Page;
  /** Processor time of the main thread from an empty tab until the sign was seen. */
  readonly shownMs: number;
  close(): Promise<void>;
}

/** In a tab of its own, so that nothing is there before. */
export async function openWatched(browser: Browser, link: string, path: string, sign: string): Promise<WatchedTab> {
  const place = new URL(link);
  place.pathname = path;
  const context = await browser.newContext({ viewport: { width: 1200, height: 800 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  // Of the thread itself: what others do on this machine does not count.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto(place.href);
  await page.locator(sign).first().waitFor();
  const { metrics } = await session.send("Performance.getMetrics");
  const seconds = metrics.find(({ name }) => name === "TaskDuration")?.value;
  if (seconds === undefined) throw new Error("the browser does not tell what its main thread did");
  return { page, shownMs: seconds * 1000, close: () => context.close() };
}
