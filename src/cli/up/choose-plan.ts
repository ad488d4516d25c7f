/** A data folder and the ranges of its last network in; a plan whose addresses this machine does not use elsewhere out. */
import type { Logger } from "../../lib/index.ts";
import { findClash, type NetworkPlan, type PlanOptions, planNetwork, rangePairs } from "../../standalone/index.ts";

/** What a user has chosen stays, and is refused where it cannot be. */
export async function choosePlan(
  options: PlanOptions,
  before: NetworkPlan | undefined,
  log: Logger,
): Promise<NetworkPlan> {
  if (options.podCidr !== undefined || options.serviceCidr !== undefined) return planNetwork(options);
  const { podCidr, serviceCidr } = before ?? planNetwork(options);
  const first = planNetwork({ ...options, podCidr, serviceCidr });
  const clash = await clashOf(first);
  if (clash === undefined) return first;
  for (let passed = 1; passed < rangePairs; passed++) {
    const plan = planNetwork({ ...options, passed });
    if ((await clashOf(plan)) !== undefined) continue;
    log.warn(`${clash}: Pods have addresses of ${plan.podCidr} and Services of ${plan.serviceCidr} instead`);
    return plan;
  }
  return first;
}

/** Without the rights or the tools to ask there is no network to plan. */
function clashOf(plan: NetworkPlan): Promise<string | undefined> {
  return findClash(plan).catch(() => undefined);
}
