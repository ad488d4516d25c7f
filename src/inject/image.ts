/** Settings and annotations in; the image of the proxy and of the container that sets up its capture out. */
import type { ProxyConfigValues } from "../model/index.ts";
import type { InjectValues } from "./values.ts";

type Texts = Readonly<Record<string, string>>;

const imageAnnotation = "sidecar.istio.io/proxyImage";
const typeAnnotation = "sidecar.istio.io/proxyImageType";

export function proxyImage(values: InjectValues, proxyConfig: ProxyConfigValues, annotations: Texts): string {
  return (
    chosen(annotations, values.proxy.image) ??
    url(values, values.proxy.image, proxyConfig.image?.imageType, annotations)
  );
}

export function initImage(values: InjectValues, annotations: Texts): string {
  return chosen(annotations, values.initImage) ?? url(values, values.initImage, undefined, annotations);
}

/** Only what has a slash names an image by itself; a bare name is one of the hub's, with the installation's tag. */
function chosen(annotations: Texts, configured: string): string | undefined {
  const image = annotations[imageAnnotation] ?? configured;
  return image.includes("/") ? image : undefined;
}

function url(values: InjectValues, name: string, type: string | undefined, annotations: Texts): string {
  return `${values.hub}/${name}:${tagOf(values.tag, annotations[typeAnnotation] ?? (type || values.variant))}`;
}

/** Variants of an image are told by the end of its tag. */
function tagOf(tag: string, type: string): string {
  if (type === "") return tag;
  const plain = tag.replace(/-(distroless|debug)$/, "");
  return type === "default" ? plain : `${plain}-${type}`;
}
