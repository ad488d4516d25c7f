/** For tests: Debian's browser, and pages in it that complain of nothing. */
import AxeBuilder from "@axe-core/playwright";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

export function startBrowser(): Promise<Browser> {
  const rights = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  // Shared memory is scarce in containers.
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: [...rights, "--disable-dev-shm-usage"] });
}

export interface Opened {
  readonly page: Page;
  /** What the browser complained of: scripts that fail, what its policy kept from happening, requests to elsewhere. */
  readonly complaints: readonly string[];
}

/** Signed in by the link, at the path. */
export async function openPage(
  browser: Browser,
  link: string,
  path = "/",
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const { origin } = new URL(link);
  const context = await browser.newContext({
    viewport: { width: 1200, height: 800 },
    reducedMotion: "reduce",
    ...options,
  });
  // Only what hangs should meet this: a machine may be busy with other things.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(origin)) complaints.push(`asked for ${request.url()}`);
  });
  await page.goto(link);
  await page.getByRole("heading", { level: 1 }).waitFor();
  if (path !== "/") await page.goto(origin + path);
  return { page, complaints };
}

/** What is against WCAG on the page as it is shown now, each with the first place. */
export async function violationsOf(page: Page): Promise<readonly string[]> {
  // In the page itself, which has no frames, instead of in a second one that is opened for each look.
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  return violations.map(({ id, nodes }) => `${id} ${nodes[0]?.html}`);
}

/** The same in both themes. */
export async function violationsInBothThemes(page: Page): Promise<readonly string[]> {
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    found.push(...(await violationsOf(page)));
  }
  return found;
}
