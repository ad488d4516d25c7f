/** A config in, the reason why its annotations make it unacceptable (or undefined) out. */
import type { Config } from "../../model/index.ts";
import { quote } from "./report.ts";

const dryRun = "istio.io/dry-run";
/** With this the webhook's own controller finds out whether the webhook is in force. */
const alwaysReject = "internal.istio.io/webhook-always-reject";
/** Set by Istio on what it makes itself; from a user they would give an object another's rights. */
const reserved = ["internal.istio.io/parent-namespace", "internal.istio.io/parents"];

export function metadataError(config: Config<unknown>): string | undefined {
  const annotations = config.meta.annotations ?? {};
  const wrong = dryRunError(config, annotations);
  if (wrong) return wrong;
  if (Object.hasOwn(annotations, alwaysReject)) return `${quote(alwaysReject)} annotation found, rejecting`;
  const own = reserved.find((name) => Object.hasOwn(annotations, name));
  return own === undefined ? undefined : `${quote(own)} annotation found, this may not be set by users`;
}

function dryRunError(config: Config<unknown>, annotations: Readonly<Record<string, string>>): string | undefined {
  if (!Object.hasOwn(annotations, dryRun)) return undefined;
  const name = `${config.meta.namespace}/${config.meta.name}`;
  if (config.kind !== "AuthorizationPolicy")
    return `${name} has unsupported annotation ${dryRun}, please remove the annotation`;
  const { action = "ALLOW" } = config.spec as { readonly action?: string };
  if (action !== "ALLOW" && action !== "DENY")
    return `the annotation ${dryRun} currently only supports action ALLOW/DENY, found action ${action} in ${name}`;
  const value = annotations[dryRun] ?? "";
  if (/^(1|t|T|TRUE|true|True|0|f|F|FALSE|false|False)$/.test(value)) return undefined;
  return `${name} has annotation ${dryRun} with invalid value (${value}): strconv.ParseBool: parsing ${quote(value)}: invalid syntax`;
}
