/** The fragment of a link in; who this tab is to the server, kept until the tab is closed, out. */
import { signal } from "@preact/signals";

const kept = "fairlead-bearer";

/** Undefined while somebody is signed in; else why nobody is. */
export const signedOut = signal<string | undefined>(undefined);

export const bearer = (): string => sessionStorage.getItem(kept) ?? "";

export function signOut(why: string): void {
  sessionStorage.removeItem(kept);
  signedOut.value = why;
}

/** With a token of the API, where the control plane asks that who somebody is. */
export function signInWith(token: string): void {
  sessionStorage.setItem(kept, token);
  signedOut.value = undefined;
}

/** The token is good once, so it is taken out of the address before anything else can see it there. */
export async function signInFrom(place: Location): Promise<void> {
  const token = /^#token=([\w.-]+)$/.exec(place.hash)?.[1];
  if (token === undefined) {
    if (bearer() === "") signOut("This tab is not signed in.");
    return;
  }
  history.replaceState(null, "", place.pathname + place.search);
  const answer = await fetch("/api/session", { method: "POST", body: JSON.stringify({ token }) }).catch(
    () => undefined,
  );
  const body: unknown = await answer?.json().catch(() => undefined);
  if (answer?.ok && typeof body === "object" && body !== null && "bearer" in body && typeof body.bearer === "string")
    sessionStorage.setItem(kept, body.bearer);
  else if (bearer() === "")
    signOut(answer ? "This link has been used or is too old." : "The control plane does not answer.");
}
