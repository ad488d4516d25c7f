/** The address bar in, as signals; links that change it without loading the page again, out. All state of a view is in it. */
import { computed, signal } from "@preact/signals";
import { type PagePath, pagePaths } from "../page-paths.ts";

const address = signal(location.pathname + location.search);
const url = computed(() => new URL(address.value, location.origin));

export const path = computed(() => pagePaths.find((known) => known === url.value.pathname));
export const query = computed(() => url.value.searchParams);

export type Query = Readonly<Record<string, string | undefined>>;

export function href(to: PagePath, params: Query = {}): string {
  const set = Object.entries(params).filter((entry): entry is [string, string] => (entry[1] ?? "") !== "");
  return set.length === 0 ? to : `${to}?${new URLSearchParams(set)}`;
}

export function go(to: string): void {
  history.pushState(null, "", to);
  address.value = to;
  scrollTo(0, 0);
}

/** For what is typed letter by letter: the back button leads past it. */
export function change(params: Query): void {
  const next = new URL(url.value);
  for (const [name, value] of Object.entries(params))
    if ((value ?? "") === "") next.searchParams.delete(name);
    else next.searchParams.set(name, value ?? "");
  history.replaceState(null, "", next.pathname + next.search);
  address.value = next.pathname + next.search;
}

addEventListener("popstate", () => {
  address.value = location.pathname + location.search;
});
