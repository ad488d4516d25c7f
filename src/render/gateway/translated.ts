/** Who a gateway's config was written by in; what translation from the Gateway API says of it, and users cannot, out. */
import { type Config, objectKey } from "../../model/index.ts";

type Meta = Config<unknown>["meta"];

/** Only translation can make a name with a tilde: no API takes one from a user. */
export const isTranslated = (meta: Meta): boolean => objectKey(meta).includes("~");

/** Undefined on what users wrote, whatever annotations they gave it. */
export function internalAnnotation(
  meta: Meta,
  name: "service-account-name" | "gateway-service" | "parent-namespace",
): string | undefined {
  return isTranslated(meta) ? meta.annotations?.[`internal.istio.io/${name}`] : undefined;
}
