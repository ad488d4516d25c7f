/** A route in; which part of its requests goes where out. Two such in; what moves from where to where out. */
import type { Route, RouteAction } from "../../gen/envoy/config/route/v3/route_components_pb.js";
import { directStatus, redirectStatus } from "../http/router.ts";
import { percent } from "../trace.ts";

/** By cluster or answer, from 0 to 1. */
export type Shares = ReadonlyMap<string, number>;

/** An answer of the proxy itself, told apart from any cluster's name. */
const answer = (status: number): string => `=${status}`;

export const answerStatus = (target: string): number | undefined =>
  target.startsWith("=") ? Number(target.slice(1)) : undefined;

export function sharesOf({ action }: Route): Shares {
  if (action.case === "route") return clusterShares(action.value);
  if (action.case === "redirect") return new Map([[answer(redirectStatus(action.value)), 1]]);
  if (action.case === "directResponse") return new Map([[answer(directStatus(action.value)), 1]]);
  return new Map();
}

function clusterShares({ clusterSpecifier: to }: RouteAction): Shares {
  if (to.case === "cluster") return new Map([[to.value, 1]]);
  if (to.case !== "weightedClusters") return new Map([[`the cluster of ${to.case ?? "nothing"}`, 1]]);
  const total = to.value.clusters.reduce((sum, { weight }) => sum + (weight ?? 0), 0);
  const shares = new Map<string, number>();
  for (const { name, weight } of to.value.clusters)
    shares.set(name, (shares.get(name) ?? 0) + (total === 0 ? 0 : (weight ?? 0) / total));
  return shares;
}

export interface Move {
  readonly share: number;
  readonly from: string;
  readonly to: string;
}

/** What one loses is what another gains, the largest first. */
export function movesOf(before: Shares, after: Shares): readonly Move[] {
  const delta = (target: string): number => (after.get(target) ?? 0) - (before.get(target) ?? 0);
  const targets = [...new Set([...before.keys(), ...after.keys()])].map((target) => ({ target, left: delta(target) }));
  const losing = targets.filter(({ left }) => left < -tiny).sort((a, b) => a.left - b.left);
  const gaining = targets.filter(({ left }) => left > tiny).sort((a, b) => b.left - a.left);
  const moves: Move[] = [];
  for (const from of losing)
    for (const to of gaining) {
      const share = Math.min(-from.left, to.left);
      if (share <= tiny) continue;
      from.left += share;
      to.left -= share;
      moves.push({ share, from: from.target, to: to.target });
    }
  return moves;
}

/** Below what weights can say. */
const tiny = 1e-6;

export const shareWord = (share: number): string =>
  share > 1 - tiny ? "all requests" : `${percent(share)} of requests`;
