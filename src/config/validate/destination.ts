/** Where a route sends traffic: destinations and their weights. */
import type { Destination } from "../../model/index.ts";
import { portError, subsetNameError, wildcardDomainError } from "./names.ts";
import { each, type Report } from "./report.ts";
import { isSet } from "./values.ts";

export function checkDestination(report: Report, destination: Destination | undefined): void {
  if (!destination) return;
  const { host = "", subset, port } = destination;
  report.at("host").error(host === "*" ? `invalid destination host ${host}` : wildcardDomainError(host));
  if (isSet(subset)) report.at("subset").error(subsetNameError(subset));
  if (port) report.at("port", "number").error(portError(port.number ?? 0));
}

interface Weighted {
  readonly destination?: Destination;
  readonly weight?: number;
}

export function checkRoutes<T extends Weighted>(
  report: Report,
  routes: readonly T[] | undefined,
  more?: (report: Report, route: T) => void,
): void {
  each(report, "route", routes, (route, at) => {
    if (!route.destination) at.error("destination is required");
    more?.(at, route);
    checkDestination(at.at("destination"), route.destination);
    const weight = route.weight ?? 0;
    if (weight < 0) at.at("weight").error(`weight ${weight} < 0`);
  });
  const total = (routes ?? []).reduce((sum, { weight = 0 }) => sum + weight, 0);
  if ((routes ?? []).length > 1 && total === 0) report.at("route").error("total destination weight = 0");
}
