/** Encoded RBAC rules and the other settings of their filter in; the filter's configuration out. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt";
import type { RBACSchema } from "../../gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js";
import type { RBACSchema as TcpRbacSchema } from "../../gen/envoy/extensions/filters/network/rbac/v3/rbac_pb.js";
import { encodePart, joined, nested } from "../part.ts";
import type { RbacSettings } from "./authorization.ts";

export function packRules<Desc extends typeof RBACSchema | typeof TcpRbacSchema>(
  schema: Desc,
  { rules, shadowRules, shadowRulesStatPrefix = "" }: RbacSettings,
  more?: MessageInitShape<Desc>,
): Any {
  const rest = create<typeof RBACSchema | typeof TcpRbacSchema>(schema, { ...more, shadowRulesStatPrefix });
  const { pieces } = joined([
    encodePart<typeof RBACSchema | typeof TcpRbacSchema>(schema, rest),
    ...(rules ? [nested(schema, "rules", rules)] : []),
    ...(shadowRules ? [nested(schema, "shadowRules", shadowRules)] : []),
  ]);
  return create(AnySchema, { typeUrl: `type.googleapis.com/${schema.typeName}`, value: Buffer.concat(pieces) });
}
