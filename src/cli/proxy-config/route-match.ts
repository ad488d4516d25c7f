/** A route's match in; its path condition, in few words, out. Headers and parameters are not told. */
import type { RouteMatch } from "../../gen/envoy/config/route/v3/route_components_pb.js";

export function describeRouteMatch(match: RouteMatch | undefined): string {
  const path = match?.pathSpecifier;
  switch (path?.case) {
    case "prefix":
      return path.value === "" ? "" : `${path.value}*`;
    case "pathSeparatedPrefix":
      return path.value === "" ? "" : `PathPrefix:${path.value}`;
    case "path":
      return path.value;
    case "safeRegex":
      return `regex ${path.value.regex}`;
    default:
      return "";
  }
}
