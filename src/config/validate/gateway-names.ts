/** The names by which a VirtualService refers to gateways in, what is wrong with them into the report. */
import { fqdnError, isDnsLabel } from "./names.ts";
import { quote, type Report } from "./report.ts";

/** After a name without a namespace Istio looks at no further name. */
export function checkGatewayNames(report: Report, names: readonly string[]): void {
  for (const [i, name] of names.entries()) {
    const at = report.at(i);
    const slash = name.indexOf("/");
    if (slash < 0) {
      const [gateway = "", namespace = ""] = name.split(".");
      if (name.includes("."))
        at.warn(
          `using legacy gatewayName format ${quote(name)}; prefer the <namespace>/<name> format: ${quote(`${namespace}/${gateway}`)}`,
        );
      at.error(fqdnError(name));
      return;
    }
    const [namespace, gateway] = [name.slice(0, slash), name.slice(slash + 1)];
    if (namespace === "" || gateway === "") at.error("config namespace and gateway name cannot be empty");
    if (!isDnsLabel(namespace)) at.error(`invalid value for namespace: ${quote(namespace)}`);
    if (!isDnsLabel(gateway)) at.error(`invalid value for gateway name: ${quote(gateway)}`);
  }
}
