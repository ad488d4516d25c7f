/** The frame of every page: where one is, where one can go, and whether what is shown is live. */
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { PagePath } from "../page-paths.ts";
import { connection, followLive } from "./live.ts";
import { Link } from "./parts/link.tsx";
import { path } from "./place.ts";
import { signedOut, signInWith } from "./session.ts";
import { ChangeView } from "./views/change.tsx";
import { Changes } from "./views/changes.tsx";
import { Edit } from "./views/edit.tsx";
import { TrafficGraph } from "./views/graph.tsx";
import { Identity } from "./views/identity.tsx";
import { Namespace, Namespaces } from "./views/namespaces.tsx";
import { MeshObject, Objects } from "./views/objects.tsx";
import { Proxies } from "./views/proxies.tsx";
import { Proxy } from "./views/proxy.tsx";
import { Requests } from "./views/requests.tsx";
import { Service, Services } from "./views/services.tsx";
import { Start } from "./views/start.tsx";
import { Why } from "./views/why.tsx";
import { Workload } from "./views/workload.tsx";

const views: Readonly<Record<PagePath, readonly [ComponentType, inMenu: string, under: PagePath]>> = {
  "/": [Start, "What is wrong", "/"],
  "/graph": [TrafficGraph, "Traffic", "/graph"],
  "/workload": [Workload, "", "/graph"],
  "/namespaces": [Namespaces, "Namespaces", "/namespaces"],
  "/namespace": [Namespace, "", "/namespaces"],
  "/services": [Services, "Services", "/services"],
  "/service": [Service, "", "/services"],
  "/proxies": [Proxies, "Proxies", "/proxies"],
  "/proxy": [Proxy, "", "/proxies"],
  "/objects": [Objects, "Objects", "/objects"],
  "/object": [MeshObject, "", "/objects"],
  "/edit": [Edit, "", "/objects"],
  "/changes": [Changes, "Changes", "/changes"],
  "/change": [ChangeView, "", "/changes"],
  "/requests": [Requests, "Live requests", "/requests"],
  "/why": [Why, "Why", "/why"],
  "/identity": [Identity, "Identity", "/identity"],
};

const words = {
  live: "live",
  away: "the control plane is away; trying again",
  paused: "paused",
} as const;

export function App() {
  useEffect(followLive, []);
  if (signedOut.value !== undefined) return <SignedOut why={signedOut.value} />;
  const here = path.value;
  const [View, , under] = here ? views[here] : [NotFound, "", undefined];
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header>
        <strong class="brand">Fairlead</strong>
        <nav aria-label="Pages">
          {Object.entries(views).map(([to, [, name]]) =>
            name === "" ? null : (
              <Link key={to} to={to as PagePath} current={to === under}>
                {name}
              </Link>
            ),
          )}
        </nav>
        <span class={`live ${connection.value}`} role="status">
          {words[connection.value]}
        </span>
      </header>
      <main id="main" tabIndex={-1}>
        <View />
      </main>
    </>
  );
}

function NotFound() {
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        <Link to="/">See what is wrong in the mesh</Link>
      </p>
    </>
  );
}

function SignedOut({ why }: { readonly why: string }) {
  return (
    <main>
      <h1>Not signed in</h1>
      <p>{why}</p>
      <p>
        Run <code>fairlead dashboard</code> for a new link.
      </p>
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          const token = new FormData(event.currentTarget).get("token");
          if (typeof token === "string" && token.trim() !== "") signInWith(token.trim());
        }}
      >
        <label>
          Or a token of the cluster's API{" "}
          <input type="password" name="token" autocomplete="off" required maxLength={16384} />
        </label>
        <button type="submit">Sign in</button>
      </form>
    </main>
  );
}
