/** Who the workload is in OpenTelemetry's words, where a tracing provider of the mesh asks for that. */
import { readText } from "../../lib/index.ts";
import { annotationsOf, containersOf, labelsOf } from "../pod.ts";
import type { TemplateInput } from "./input.ts";

export function otelAttributes({ meshConfig, pod, owner }: TemplateInput): string {
  const wanted = meshConfig.extensionProviders?.some(
    ({ opentelemetry }) => opentelemetry?.serviceAttributeEnrichment === "OTEL_SEMANTIC_CONVENTIONS",
  );
  if (!wanted) return "";
  const annotations = annotationsOf(pod);
  const given = (name: string): string | undefined =>
    annotations[`resource.opentelemetry.io/service.${name}`] || undefined;
  const containers = containersOf(pod);
  const [first] = containers;
  const versionOfImage = containers.length === 1 ? imageVersion(readText(first?.image)) : "";
  const instance = first && `${owner.namespace}.$(POD_NAME).${first.name}`;
  const attributes: readonly (readonly [string, string | undefined])[] = [
    ["namespace", given("namespace") ?? owner.namespace],
    ["version", given("version") ?? (labelsOf(pod)["app.kubernetes.io/version"] || versionOfImage)],
    ["instance.id", given("instance.id") ?? instance],
  ];
  return attributes.flatMap(([name, text]) => (text ? [`service.${name}=${text}`] : [])).join(",");
}

/** Tag, digest or both of `[registry[:port]/]name[:tag][@digest]`. */
function imageVersion(image: string): string {
  const [name = "", digest = ""] = image.split(/@(.*)/s);
  const colon = name.lastIndexOf(":");
  const tag = colon > name.lastIndexOf("/") ? name.slice(colon + 1) : "";
  return [tag, digest].filter((part) => part !== "").join("@");
}
