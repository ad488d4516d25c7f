/** A page and its query in; a link that goes there without loading anything again out. */
import type { ComponentChildren, TargetedMouseEvent } from "preact";
import type { PagePath } from "../../page-paths.ts";
import { go, href, type Query } from "../place.ts";

export interface LinkProps {
  readonly to: PagePath;
  readonly query?: Query;
  readonly current?: boolean;
  /** What is said of it where its content does not. */
  readonly label?: string;
  readonly children: ComponentChildren;
}

export function Link({ to, query = {}, current, label, children }: LinkProps) {
  const target = href(to, query);
  const follow = (event: TargetedMouseEvent<HTMLAnchorElement>): void => {
    // New tabs and windows are the browser's.
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(target);
  };
  return (
    <a href={target} onClick={follow} aria-current={current ? "page" : undefined} aria-label={label}>
      {children}
    </a>
  );
}

/** These have no page of their own. */
const withoutPage: ReadonlySet<string> = new Set(["ConfigMap", "EndpointSlice", "Namespace", "Node", "Pod", "Secret"]);

/** `Kind/namespace/name`, with the field where one is known. */
export function ObjectLink({ id, field }: { readonly id: string; readonly field?: string | undefined }) {
  const words = <bdi>{field === undefined ? id : `${id} ${field}`}</bdi>;
  const [kind = "", namespace, name] = id.split("/");
  if (withoutPage.has(kind)) return words;
  // A Service is shown by its host, which begins with its name.
  const isService = kind === "Service";
  return (
    <Link to={isService ? "/services" : "/object"} query={isService ? { q: `${namespace}/${name}.` } : { id }}>
      {words}
    </Link>
  );
}

export const ProxyLink = ({ id }: { readonly id: string }) => (
  <Link to="/proxy" query={{ id }}>
    <bdi>{id}</bdi>
  </Link>
);

export const NamespaceLink = ({ name }: { readonly name: string }) => (
  <Link to="/namespace" query={{ id: name }}>
    <bdi>{name}</bdi>
  </Link>
);

/** `namespace/host`. */
export const ServiceLink = ({ id }: { readonly id: string }) => (
  <Link to="/service" query={{ id }}>
    <bdi>{id.slice(id.indexOf("/") + 1)}</bdi>
  </Link>
);
