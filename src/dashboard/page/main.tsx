/** Where the page begins in the browser: signs in with the link's token, then shows what the address names. */
import { render } from "preact";
import { App } from "./app.tsx";
import { signInFrom } from "./session.ts";

const root = document.getElementById("app");
if (root) {
  await signInFrom(location);
  root.replaceChildren();
  render(<App />, root);
}
