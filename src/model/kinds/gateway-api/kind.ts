/** What one kind of the Gateway API says of itself in; the kind with what all of them share out. */
import { defineKind, type Kind } from "../kind.ts";
import type { ObjectNode } from "../schema.ts";

type Own<Spec extends ObjectNode, Status extends ObjectNode> = Omit<
  Kind<Spec, Status>,
  "listKind" | "singular" | "group" | "categories" | "required" | "crdAnnotations" | "encoding"
>;

export function defineGatewayApiKind<Spec extends ObjectNode, Status extends ObjectNode>(
  own: Own<Spec, Status>,
): Kind<Spec, Status> {
  return defineKind({
    group: "gateway.networking.k8s.io",
    categories: ["gateway-api"],
    required: ["spec"],
    crdAnnotations: {
      "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/4530",
      "gateway.networking.k8s.io/bundle-version": "v1.6.0",
      "gateway.networking.k8s.io/channel": "experimental",
    },
    encoding: "kubernetes",
    ...own,
  });
}
