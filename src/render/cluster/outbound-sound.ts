/** What an outbound cluster stands for in; a cluster that Envoy takes out, whatever numbers a rule has. */
import { type Cluster, ClusterSchema } from "../../gen/envoy/config/cluster/v3/cluster_pb.js";
import type { BuildFacet } from "../../model/index.ts";
import { brokenConstraint } from "../build/constraints.ts";
import type { OutboundTarget } from "../outbound/targets.ts";
import type { View } from "../view.ts";
import { buildOutbound } from "./outbound-build.ts";

/**
 * One value out of range would cost the service its whole cluster. Where a rule has one, nothing of its policy holds but
 * TLS, which must never be lost for another field's sake.
 */
export function buildSoundOutbound(view: View<BuildFacet>, target: OutboundTarget): Cluster | undefined {
  const cluster = buildOutbound(view, target);
  if (!cluster || !target.rule || brokenConstraint(ClusterSchema, cluster) === undefined) return cluster;
  const { tls, proxyProtocol } = target.effective.policy;
  const policy = { ...(tls ? { tls } : {}), ...(proxyProtocol ? { proxyProtocol } : {}) };
  return buildOutbound(view, { ...target, effective: { ...target.effective, policy } });
}
