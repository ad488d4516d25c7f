/** A path as it was sent and a connection manager's settings in; the path that everything is compared with out. */
import {
  type HttpConnectionManager,
  HttpConnectionManager_PathWithEscapedSlashesAction as SlashAction,
} from "../../gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";

export type NormalizedPath =
  | { readonly path: string }
  /** Envoy answers at once. */
  | { readonly status: number; readonly details: string; readonly location?: string };

type PathSettings = Pick<HttpConnectionManager, "normalizePath" | "mergeSlashes" | "pathWithEscapedSlashesAction">;

export function normalizePath(given: string, settings: PathSettings): NormalizedPath {
  const sent = given.replace(/#.*$/s, "");
  const at = sent.indexOf("?");
  const [path, query] = at < 0 ? [sent, ""] : [sent.slice(0, at), sent.slice(at)];
  if (path === "*" || !path.startsWith("/")) return { path: sent };
  const action = settings.pathWithEscapedSlashesAction;
  const escaped = /%2f|%5c/i.test(path);
  if (escaped && action === SlashAction.REJECT_REQUEST) return { status: 400, details: "path_normalization_failed" };
  const unescaped = action === SlashAction.UNESCAPE_AND_FORWARD || action === SlashAction.UNESCAPE_AND_REDIRECT;
  const plain = escaped && unescaped ? path.replace(/%2f/gi, "/").replace(/%5c/gi, "\\") : path;
  const normal = settings.normalizePath === true ? canonical(plain) : plain;
  if (normal === undefined) return { status: 400, details: "path_normalization_failed" };
  const merged = settings.mergeSlashes ? normal.replace(/\/{2,}/g, "/") : normal;
  if (escaped && action === SlashAction.UNESCAPE_AND_REDIRECT)
    return { status: 307, details: "path_normalization_failed", location: merged + query };
  return { path: merged + query };
}

/** RFC 3986 as Envoy's library reads it; undefined for what it refuses. */
function canonical(path: string): string | undefined {
  if (/%00/.test(path)) return undefined;
  return removeDots(unescapeUnreserved(path.replaceAll("\\", "/")));
}

function unescapeUnreserved(path: string): string {
  return path.replace(/%([0-9a-f]{2})/gi, (escaped, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : escaped;
  });
}

function removeDots(path: string): string {
  const kept: string[] = [];
  const parts = path.split("/").slice(1);
  for (const [index, part] of parts.entries()) {
    // Parameters of a segment do not keep it from being dots.
    const dots = part.replace(/;.*$/s, "");
    if (dots === "..") kept.pop();
    if (dots !== ".." && dots !== ".") kept.push(part);
    else if (index === parts.length - 1) kept.push("");
  }
  return `/${kept.join("/")}`;
}
