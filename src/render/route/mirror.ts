/** The mirrors of an HTTP route in, Envoy's mirror policies out. */
import { create } from "@bufbuild/protobuf";
import {
  type RouteAction_RequestMirrorPolicy,
  RouteAction_RequestMirrorPolicySchema,
} from "../../gen/envoy/config/route/v3/route_components_pb.js";
import type { FractionalPercent } from "../../gen/envoy/type/v3/percent_pb.js";
import type { Destination, HTTPRoute } from "../../model/index.ts";
import { percentFraction, runtimePercent, wholePercent } from "../build/route-percent.ts";

interface Mirror {
  readonly destination: Destination;
  /** Undefined for an explicit zero: nothing is mirrored. */
  readonly share: FractionalPercent | undefined;
}

export function mirrorPolicies(
  route: HTTPRoute,
  cluster: (destination: Destination) => string,
): RouteAction_RequestMirrorPolicy[] {
  return mirrors(route).flatMap(({ destination, share }) => {
    if (!share) return [];
    const policy = create(RouteAction_RequestMirrorPolicySchema, {
      cluster: cluster(destination),
      runtimeFraction: runtimePercent(share),
      traceSampled: false,
      disableShadowHostSuffixAppend: true,
    });
    return [policy];
  });
}

function mirrors(route: HTTPRoute): readonly Mirror[] {
  const first = route.mirror ? [{ destination: route.mirror, share: mirrorShare(route) }] : [];
  const more = (route.mirrors ?? []).flatMap(({ destination, percentage }) =>
    destination ? [{ destination, share: percentage ? share(percentage.value ?? 0) : wholePercent(100) }] : [],
  );
  return [...first, ...more];
}

function mirrorShare(route: HTTPRoute): FractionalPercent | undefined {
  if (route.mirrorPercentage) return share(route.mirrorPercentage.value ?? 0);
  const whole = route.mirrorPercent ?? route.mirror_percent;
  if (typeof whole !== "number") return wholePercent(100);
  return whole > 0 ? wholePercent(whole) : undefined;
}

function share(value: number): FractionalPercent | undefined {
  return value > 0 ? percentFraction(value) : undefined;
}
