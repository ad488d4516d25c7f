/** MeshConfig's extension providers in, warnings into the report: a wrong one matters only to who uses it. */
import type { ExtensionProvider } from "../../model/index.ts";
import { parseUrl } from "../schema/go-url.ts";
import { ipError } from "./addresses.ts";
import { fqdnError, isDnsLabel, portError } from "./names.ts";
import { each, quote, type Report } from "./report.ts";
import { isSet } from "./values.ts";

export function checkExtensionProviders(report: Report, providers: readonly ExtensionProvider[]): void {
  const names = new Set<string>();
  each(report, "extensionProviders", providers, (provider, at) => {
    const name = provider.name ?? "";
    for (const message of providerErrors(provider, names)) at.warn(`invalid extension provider ${name}: ${message}`);
    names.add(name);
  });
}

interface Service {
  readonly service?: string;
  readonly port?: number;
}

/** The providers that are a service to call; the others have nothing that could be wrong. */
function serviceOf(provider: ExtensionProvider): Service | undefined {
  return (
    provider.envoyExtAuthzHttp ??
    provider.envoyExtAuthzGrpc ??
    provider.zipkin ??
    provider.lightstep ??
    provider.datadog ??
    provider.opencensus ??
    provider.skywalking ??
    provider.envoyOtelAls ??
    provider.opentelemetry ??
    provider.envoyHttpAls ??
    provider.envoyTcpAls
  );
}

function providerErrors(provider: ExtensionProvider, names: ReadonlySet<string>): readonly string[] {
  const { name = "", envoyExtAuthzHttp: http } = provider;
  const service = serviceOf(provider);
  const prefix = http?.pathPrefix ?? "";
  const messages = [
    name === ""
      ? "empty extension provider name"
      : names.has(name)
        ? `duplicate extension provider name ${name}`
        : undefined,
    service && portError(service.port ?? 0),
    service && serviceError(service.service ?? ""),
    prefix !== "" && "error" in parseUrl(prefix) ? `invalid pathPrefix ${prefix}` : undefined,
    prefix !== "" && !prefix.startsWith("/")
      ? `pathPrefix should begin with \`/\` but found ${quote(prefix)}`
      : undefined,
    statusError(http?.statusOnError ?? provider.envoyExtAuthzGrpc?.statusOnError ?? ""),
    provider.lightstep && !isSet(provider.lightstep.accessToken) ? "access token is required" : undefined,
  ];
  return messages.filter((message) => message !== undefined);
}

/** `host`, `address` or `namespace/host`. */
function serviceError(service: string): string | undefined {
  if (service === "") return "service must not be empty";
  const slash = service.indexOf("/");
  if (slash < 0) {
    const wrong = fqdnError(service) && ipError(service);
    return wrong ? `invalid service fmt ${service}: ${wrong}` : undefined;
  }
  const [namespace, host] = [service.slice(0, slash), service.slice(slash + 1)];
  if (namespace === "" || host === "") return "config namespace and dnsName in host entry cannot be empty";
  return isDnsLabel(namespace) ? fqdnError(host) : `invalid namespace value ${quote(namespace)} in sidecar`;
}

function statusError(status: string): string | undefined {
  if (status === "") return undefined;
  const code = /^\d+$/.test(status) ? Number(status) : Number.NaN;
  return code >= 100 && code <= 511 ? undefined : `unsupported statusOnError value ${status}`;
}
