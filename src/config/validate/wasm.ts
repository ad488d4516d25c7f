/** WasmPlugin and TrafficExtension in, what istiod's webhook says of them into the report. */
import type { TrafficExtensionSpec, VmConfig, WasmConfig, WasmPluginSpec } from "../../model/index.ts";
import { parseRequestUri, parseUrl } from "../schema/go-url.ts";
import type { Check } from "./check.ts";
import type { Report } from "./report.ts";
import { checkAttachment } from "./selector.ts";

export const checkWasmPlugin: Check<WasmPluginSpec> = (report, spec) => {
  checkAttachment(report, spec);
  checkModule(report, spec, 255);
  report.at("match").error(matchError(spec.match ?? []));
};

export const checkTrafficExtension: Check<TrafficExtensionSpec> = (report, spec) => {
  const { wasm, lua } = spec;
  // Of a protobuf oneof the last one set is what remains, so that both together never reach this rule.
  if (!wasm && !lua) report.error("exactly one of wasm or lua must be set");
  checkAttachment(report, spec);
  if (lua) {
    const size = Buffer.byteLength(lua.inlineCode ?? "");
    if (size === 0) report.at("lua").error("lua.inlineCode cannot be empty");
    if (size > 65536) report.at("lua").error("lua.inlineCode exceeds maximum size of 64KB");
  } else if (wasm) checkModule(report.at("wasm"), wasm, 256);
  report.at("match").error(matchError(spec.match ?? []));
};

function checkModule(report: Report, module: WasmConfig | WasmPluginSpec, nameLimit: number): void {
  report.at("url").error(urlError(module.url ?? ""));
  report.at("sha256").error(shaError(module.sha256 ?? ""));
  if ((module.imagePullSecret ?? "").length > 253)
    report.at("imagePullSecret").error("imagePullSecret field must be less than 253 characters long");
  if ((module.pluginName ?? "").length > 256)
    report.at("pluginName").error(`pluginName field must be less than ${nameLimit} characters long`);
  report.at("vmConfig", "env").error(environmentError(module.vmConfig));
}

const schemes: ReadonlySet<string> = new Set(["", "file", "http", "https", "oci"]);

/** A text without a scheme is an image, so it is tried as a host as well. */
function urlError(text: string): string | undefined {
  if (text === "") return "url field needs to be set";
  const first = parseRequestUri(text);
  const whole = "error" in first ? `http://${text}` : text;
  const parsed = parseRequestUri(whole);
  if ("error" in parsed) return `failed to parse url: ${"error" in first ? first.error : parsed.error}`;
  const strict = parseUrl(whole);
  if ("error" in strict) return `failed to strict parse url: ${strict.error}`;
  return schemes.has(parsed.scheme) ? undefined : `url contains unsupported scheme: ${parsed.scheme}`;
}

function shaError(sha: string): string | undefined {
  if (sha === "") return undefined;
  if (Buffer.byteLength(sha) !== 64) return "sha256 field must be 64 characters long";
  return /^[a-f0-9]+$/.test(sha) ? undefined : "sha256 field must match [a-f0-9]{64} pattern";
}

function environmentError(vm: VmConfig | undefined): string | undefined {
  const names = new Set<string>();
  for (const { name = "", value = "", valueFrom = "INLINE" } of vm?.env ?? []) {
    if (name === "") return "spec.vmConfig.env invalid";
    if (name.length > 256) return "env.name field must be less than 255 characters long";
    if (names.has(name)) return "duplicate env";
    names.add(name);
    if (valueFrom !== "INLINE" && value !== "") return "value may only be set when valueFrom is INLINE";
  }
  return undefined;
}

function matchError(
  selectors: readonly { readonly ports?: readonly { readonly number?: number }[] }[],
): string | undefined {
  for (const [i, { ports = [] }] of selectors.entries())
    for (const [j, { number = 0 }] of ports.entries())
      if (number <= 0 || number > 65535) return `spec.Match[${i}].Ports[${j}] is out of range: ${number}`;
  return undefined;
}
