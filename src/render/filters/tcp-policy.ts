/** A DestinationRule in; what it says about TCP connections that are forwarded out. */
import type { DestinationRuleSpec } from "../../model/index.ts";
import { duration } from "../build/duration.ts";
import type { TcpProxyInit } from "./tcp-proxy.ts";

/** A subset's own load balancer and tunnel count instead of the host's. */
export function tcpPolicy(rule: DestinationRuleSpec | undefined, subset: string, tunnel: boolean): TcpProxyInit {
  const tcp = rule?.trafficPolicy?.connectionPool?.tcp;
  const [idleTimeout, maxDuration] = [duration(tcp?.idleTimeout), duration(tcp?.maxConnectionDuration)];
  return {
    ...(idleTimeout ? { idleTimeout } : {}),
    ...(maxDuration ? { maxDownstreamConnectionDuration: maxDuration } : {}),
    ...(hashesSource(rule, subset) ? { hashPolicy: [{ policySpecifier: { case: "sourceIp", value: {} } }] } : {}),
    ...(tunnel ? tunneling(rule, subset) : {}),
  };
}

function hashesSource(rule: DestinationRuleSpec | undefined, subset: string): boolean {
  const own = rule?.subsets?.find(({ name }) => name === subset)?.trafficPolicy?.loadBalancer;
  const balancer = own ?? rule?.trafficPolicy?.loadBalancer;
  return balancer?.consistentHash?.useSourceIp === true;
}

function tunneling(rule: DestinationRuleSpec | undefined, subset: string): TcpProxyInit {
  const policy =
    subset === "" ? rule?.trafficPolicy : rule?.subsets?.find(({ name }) => name === subset)?.trafficPolicy;
  const settings = policy?.tunnel;
  if (!settings) return {};
  const host = settings.targetHost ?? "";
  const bracketed = host.includes(":") ? `[${host}]` : host;
  return {
    tunnelingConfig: { hostname: `${bracketed}:${settings.targetPort ?? 0}`, usePost: settings.protocol === "POST" },
  };
}
