/** The headers of a request in; whether it comes from this page on this machine, and not from another site's, out. */
import type { IncomingHttpHeaders } from "node:http";
import { isLocalHost } from "../../ops/index.ts";

/** Another site can have a name of its own lead to this address; it cannot have the browser say another name. */
export function isSameSite(headers: IncomingHttpHeaders, names: readonly string[] = []): boolean {
  const host = headers.host ?? "";
  if (!isLocalHost(host) && !names.includes(host.replace(/:\d+$/, "").toLowerCase())) return false;
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  const { origin } = headers;
  return origin === undefined || origin === `http://${host}` || origin === `https://${host}`;
}
