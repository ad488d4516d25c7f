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
import { finish } from "../steps.ts";
import { checkPeerAuthentication, checkRequestAuthentication } from "./authentication.ts";
import { checkAuthorizationPolicy } from "./authorization-policy.ts";
import type { Check, ValidateOptions } from "./check.ts";
import { checkDestinationRule } from "./destination-rule.ts";
import { checkEnvoyFilter } from "./envoy-filter.ts";
import { checkGateway } from "./gateway.ts";
import { metadataError } from "./metadata.ts";
import { patternsError } from "./patterns.ts";
import { checkProxyConfig } from "./proxy-config.ts";
import { createReport, type Verdict } from "./report.ts";
import { checkServiceEntry } from "./service-entry.ts";
import { checkSidecar } from "./sidecar.ts";
import { checkTelemetry } from "./telemetry.ts";
import { checkVirtualService } from "./virtual-service.ts";
import { checkTrafficExtension, checkWasmPlugin } from "./wasm.ts";
import { checkWorkloadEntry, checkWorkloadGroup } from "./workload.ts";

type Run = (config: Config<unknown>, options: ValidateOptions) => Generator<undefined, Verdict>;

function run<K extends Kind>(kind: K, check: Check<SpecOf<K>>): readonly [Kind, Run] {
  // A config of the kind was decoded with the kind's schema, so its spec has the kind's type.
  return [kind, (config, options) => runCheck(config as Config<SpecOf<K>>, check, options)];
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

const fine: Verdict = { readable: true, errors: [], warnings: [] };

/** A kind that istiod has no rules for has no problems. */
export function validateConfig(kind: Kind, raw: unknown, options: ValidateOptions = {}): Verdict {
  if (!checks.has(kind)) return fine;
  const { ok, problems } = decode(kind, raw);
  // The webhook decodes strictly: a field it does not know is refused, and nothing else is looked at.
  const [first] = problems;
  if (first) return { readable: false, errors: [{ ...first, hint: "check the field's name and type" }], warnings: [] };
  return ok ? validateDecoded(kind, ok, options) : fine;
}

/** For what has been decoded already, leniently: unknown fields are gone and not complained about. */
function validateDecoded(kind: Kind, config: Config<unknown>, options: ValidateOptions): Verdict {
  return finish(validationSteps(kind, config, options));
}

/** The same, a step at a time, for who has other things to do in between. */
export function* validationSteps(
  kind: Kind,
  config: Config<unknown>,
  options: ValidateOptions = {},
): Generator<undefined, Verdict> {
  const steps = checks.get(kind)?.(config, options);
  return steps ? yield* steps : fine;
}

function* runCheck<Spec>(
  config: Config<Spec>,
  check: Check<Spec>,
  options: ValidateOptions,
): Generator<undefined, Verdict> {
  const { name, namespace, labels = {}, annotations = {} } = config.meta;
  const object = `${config.kind}/${namespace}/${name}`;
  const wrong = metadataError(config);
  if (wrong) return { ...fine, errors: [{ object, path: "metadata.annotations", message: wrong }] };
  const costly = patternsError(config.spec);
  if (costly) return { ...fine, errors: [{ object, path: "spec", message: costly }] };
  yield;
  const { report, errors, warnings } = createReport(object, "spec");
  yield* check(report, config.spec, { name, namespace, labels, annotations }, options) ?? [];
  return { readable: true, errors, warnings };
}
