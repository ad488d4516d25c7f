/** A Gateway in; the Services that it is reached by, and who its proxies run as, out. */
import type { Config, KubeGatewaySpec } from "../../model/index.ts";
import { type Problem, problem } from "./problem.ts";

/** A Gateway with one Hostname address uses a Service that exists; all others get their own. */
export function isManaged({ addresses = [] }: KubeGatewaySpec): boolean {
  const [only, ...more] = addresses;
  if (!only) return true;
  return more.length === 0 && (only.type === undefined || only.type === "IPAddress");
}

function defaultName({ meta, spec }: Config<KubeGatewaySpec>): string {
  return `${meta.name}-${spec.gatewayClassName ?? ""}`;
}

/** Of the Deployment and the Service of a managed gateway. */
export function workloadName(gateway: Config<KubeGatewaySpec>): string {
  return gateway.meta.annotations?.["gateway.istio.io/name-override"] ?? defaultName(gateway);
}

export function gatewayServices(gateway: Config<KubeGatewaySpec>, domain: string): readonly string[] {
  const { meta, spec } = gateway;
  if (isManaged(spec)) return [`${workloadName(gateway)}.${meta.namespace}.svc.${domain}`];
  return (spec.addresses ?? [])
    .filter(({ type }) => type === undefined || type === "Hostname")
    .map(({ value = "" }) => (value.includes(".") ? value : `${value}.${meta.namespace}.svc.${domain}`));
}

/** A manual gateway may have some that can be used and others that cannot. */
export function unsupportedAddress(spec: KubeGatewaySpec): Problem | undefined {
  const ignored = (spec.addresses ?? []).filter(({ type }) => type !== undefined && type !== "Hostname");
  if (isManaged(spec) || ignored.length === 0) return undefined;
  const values = ignored.map(({ value = "" }) => value).join(" ");
  return problem("UnsupportedAddress", `only Hostname is supported, ignoring [${values}]`);
}

/** Who a managed gateway runs as; nobody knows that of a manual one. */
export function serviceAccount(gateway: Config<KubeGatewaySpec>): string {
  return isManaged(gateway.spec)
    ? (gateway.meta.annotations?.["gateway.istio.io/service-account"] ?? defaultName(gateway))
    : "";
}
