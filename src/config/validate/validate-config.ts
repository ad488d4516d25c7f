/** An object in, the verdict of istiod's validation webhook out: errors and warnings with the fields they are about. */
import {
  authorizationPolicy,
  type Config,
  destinationRule,
  envoyFilter,
  gateway,
  type Kind,
  peerAuthentication,
  proxyConfig,
  requestAuthentication,
  type SpecOf,
  serviceEntry,
  sidecar,
  telemetry,
  trafficExtension,
  virtualService,
  wasmPlugin,
  workloadEntry,
  workloadGroup,
} from "../../model/index.ts";
import { decode } from "../decode.ts";
import type { Problem } from "../problem.ts";
import { checkPeerAuthentication, checkRequestAuthentication } from "./authentication.ts";
import { checkAuthorizationPolicy } from "./authorization-policy.ts";
import type { Check, ValidateOptions } from "./check.ts";
import { checkDestinationRule } from "./destination-rule.ts";
import { checkEnvoyFilter } from "./envoy-filter.ts";
import { checkGateway } from "./gateway.ts";
import { metadataError } from "./metadata.ts";
import { checkProxyConfig } from "./proxy-config.ts";
import { createReport, type Verdict } from "./report.ts";
import { checkServiceEntry } from "./service-entry.ts";
import { checkSidecar } from "./sidecar.ts";
import { checkTelemetry } from "./telemetry.ts";
import { checkVirtualService } from "./virtual-service.ts";
import { checkTrafficExtension, checkWasmPlugin } from "./wasm.ts";
import { checkWorkloadEntry, checkWorkloadGroup } from "./workload.ts";

type Run = (raw: unknown, options: ValidateOptions) => Verdict;

function run<K extends Kind>(kind: K, check: Check<SpecOf<K>>): readonly [Kind, Run] {
  return [kind, (raw, options) => validateDecoded(decode(kind, raw), check, options)];
}

/** The kinds that istiod validates; others pass. */
const checks: ReadonlyMap<Kind, Run> = new Map([
  run(authorizationPolicy, checkAuthorizationPolicy),
  run(destinationRule, checkDestinationRule),
  run(envoyFilter, checkEnvoyFilter),
  run(gateway, checkGateway),
  run(peerAuthentication, checkPeerAuthentication),
  run(proxyConfig, checkProxyConfig),
  run(requestAuthentication, checkRequestAuthentication),
  run(serviceEntry, checkServiceEntry),
  run(sidecar, checkSidecar),
  run(telemetry, checkTelemetry),
  run(trafficExtension, checkTrafficExtension),
  run(virtualService, checkVirtualService),
  run(wasmPlugin, checkWasmPlugin),
  run(workloadEntry, checkWorkloadEntry),
  run(workloadGroup, checkWorkloadGroup),
]);

/** A kind that istiod has no rules for has no problems. */
export function validateConfig(kind: Kind, raw: unknown, options: ValidateOptions = {}): Verdict {
  return checks.get(kind)?.(raw, options) ?? { readable: true, errors: [], warnings: [] };
}

function validateDecoded<Spec>(
  decoded: { readonly ok?: Config<Spec>; readonly problems: readonly Problem[] },
  check: Check<Spec>,
  options: ValidateOptions,
): Verdict {
  const { ok, problems } = decoded;
  // The webhook decodes strictly: a field it does not know is refused, and nothing else is looked at.
  const [first] = problems;
  if (!ok || first) return { readable: false, errors: first ? [unreadable(first)] : [], warnings: [] };
  const object = `${ok.kind}/${ok.meta.namespace}/${ok.meta.name}`;
  const { report, errors, warnings } = createReport(object, "spec");
  const { name, namespace, labels = {}, annotations = {} } = ok.meta;
  const wrong = metadataError(ok);
  if (wrong)
    return { readable: true, errors: [{ object, path: "metadata.annotations", message: wrong }], warnings: [] };
  check(report, ok.spec, { name, namespace, labels, annotations }, options);
  return { readable: true, errors, warnings };
}

function unreadable({ object, path, message }: Problem): Problem {
  return { object, path, message, hint: "check the field's name and type" };
}
