/** What holds for a Pod or a service in; the lines that a person reads out, in the words of `istioctl x describe`. */
import { printable } from "../../lib/index.ts";
import type { PodView } from "./pod.ts";
import type { ServiceView } from "./service.ts";

const line = "--------------------";

export function podText(view: PodView): string {
  const lines = [
    `Pod: ${view.name}`,
    `   Pod Revision: ${view.revision}`,
    `   Service Account: ${view.serviceAccount}`,
    `   Pod Ports: ${view.ports.join(", ") || "none declared"}`,
    ...(view.type === "gateway" ? ["   It is a gateway"] : []),
    ...view.warnings.map((text) => `WARNING: ${text}`),
    line,
    ...view.services.flatMap((service) => [...serviceLines(service), line]),
    ...policyLines(view),
  ];
  return `${lines.map(printable).join("\n")}\n`;
}

export function serviceText(view: ServiceView, pods: readonly PodView[]): string {
  const alike = Map.groupBy(pods, (pod) => policyLines(pod).join("\n"));
  const lines = [
    ...serviceLines(view),
    ...[...alike.values()].flatMap((group) => [
      line,
      `Pods: ${group.map(({ name }) => name).join(", ")}`,
      ...(group[0] ? policyLines(group[0]) : []),
    ]),
    ...(pods.length === 0 ? [line, "WARNING: no Pod with a proxy is behind it"] : []),
  ];
  return `${lines.map(printable).join("\n")}\n`;
}

function serviceLines({ name, host, ports, rules, gateways, endpoints }: ServiceView): readonly string[] {
  return [
    `Service: ${name}`,
    `   Endpoints: ${endpoints}`,
    ...ports.flatMap(({ name: portName, port, protocol, targetPort, routes }) => [
      `   Port: ${portName} ${port}/${protocol}${targetPort === undefined ? "" : ` targets pod port ${targetPort}`}`,
      ...routes.map(({ requests, to, from }) => `      ${requests}: ${to} (${show(from)})`),
    ]),
    ...rules.flatMap(({ object, matching, others, settings }) => [
      `${show(object)} for "${host}"`,
      ...(matching.length > 0 ? [`   Matching subsets: ${matching.join(",")}`] : []),
      ...(others.length > 0
        ? [
            `   ${matching.length > 0 ? "   (Non-matching subsets " : "Subsets: "}${others.join(",")}${matching.length > 0 ? ")" : ""}`,
          ]
        : []),
      `   ${settings.length > 0 ? `Traffic Policy: ${settings.join(", ")}` : "No Traffic Policy"}`,
    ]),
    ...gateways.map(({ gateway, host: own, requests }) => `Exposed on gateway ${gateway} as ${own}: ${requests}`),
  ];
}

function policyLines({ mtls, policies, others }: PodView): readonly string[] {
  return [
    "Effective PeerAuthentication:",
    `   Workload mTLS mode: ${mtls.mode}`,
    ...Object.entries(mtls.ports).map(([port, mode]) => `   Port ${port} mTLS mode: ${mode}`),
    ...list("Applied PeerAuthentication:", mtls.from),
    ...list("Authorization policies:", policies),
    ...list("Also applied:", others),
  ];
}

const list = (title: string, items: readonly string[]): readonly string[] =>
  items.length === 0 ? [] : [title, ...items.map((item) => `   ${show(item)}`)];

/** `VirtualService shop/web` for `VirtualService/shop/web`. */
const show = (text: string): string => text.replace(/\b([A-Z]\w+)\/(\S+\/\S+)/g, "$1 $2");
