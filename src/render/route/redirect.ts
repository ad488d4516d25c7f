/** A redirect of a VirtualService in, Envoy's redirect action out; undefined for a status that is no redirect. */
import { create } from "@bufbuild/protobuf";
import {
  type RedirectAction,
  RedirectAction_RedirectResponseCode,
  RedirectActionSchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { HTTPRedirect } from "../../model/index.ts";

const codes: ReadonlyMap<number, RedirectAction_RedirectResponseCode> = new Map([
  [0, RedirectAction_RedirectResponseCode.MOVED_PERMANENTLY],
  [301, RedirectAction_RedirectResponseCode.MOVED_PERMANENTLY],
  [302, RedirectAction_RedirectResponseCode.FOUND],
  [303, RedirectAction_RedirectResponseCode.SEE_OTHER],
  [307, RedirectAction_RedirectResponseCode.TEMPORARY_REDIRECT],
  [308, RedirectAction_RedirectResponseCode.PERMANENT_REDIRECT],
]);

export function redirectAction(
  redirect: HTTPRedirect,
  place: { readonly port: number; readonly tls: boolean },
): RedirectAction | undefined {
  const responseCode = codes.get(redirect.redirectCode ?? 0);
  if (responseCode === undefined) return undefined;
  return create(RedirectActionSchema, {
    hostRedirect: redirect.authority ?? "",
    portRedirect: redirectPort(redirect, place),
    schemeRewriteSpecifier: redirect.scheme ? { case: "schemeRedirect", value: redirect.scheme } : { case: undefined },
    pathRewriteSpecifier: redirect.prefixRewrite
      ? { case: "prefixRewrite", value: redirect.prefixRewrite }
      : { case: "pathRedirect", value: redirect.uri ?? "" },
    responseCode,
  });
}

/** Envoy cannot take the port from the request, but each listener's routes are for one port. The usual ports are left out. */
function redirectPort(redirect: HTTPRedirect, place: { readonly port: number; readonly tls: boolean }): number {
  const port = redirect.derivePort === "FROM_REQUEST_PORT" ? place.port : (redirect.port ?? 0);
  const scheme = redirect.scheme || (place.tls ? "https" : "http");
  const usual = (scheme === "http" && port === 80) || (scheme === "https" && port === 443);
  return usual ? 0 : port;
}
