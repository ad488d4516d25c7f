/** ReferenceGrant: who may refer to objects of this namespace. */
import { array, type Infer, object, string } from "../schema.ts";
import { defineGatewayApiKind } from "./kind.ts";
import { groupName, kindName, label } from "./words.ts";

const referenceGrantFrom = object(
  {
    group: groupName(),
    kind: kindName(),
    namespace: label(),
  },
  { required: ["group", "kind", "namespace"] },
);
export type ReferenceGrantFrom = Infer<typeof referenceGrantFrom>;

const referenceGrantTo = object(
  {
    group: groupName(),
    kind: kindName(),
    name: string({ minLength: 1, maxLength: 253 }),
  },
  { required: ["group", "kind"] },
);
export type ReferenceGrantTo = Infer<typeof referenceGrantTo>;

const referenceGrantSpec = object(
  {
    from: array(referenceGrantFrom, { minItems: 1, maxItems: 16, listType: "atomic" }),
    to: array(referenceGrantTo, { minItems: 1, maxItems: 16, listType: "atomic" }),
  },
  { required: ["from", "to"] },
);
export type ReferenceGrantSpec = Infer<typeof referenceGrantSpec>;

export const referenceGrant = defineGatewayApiKind({
  versions: [
    { name: "v1", served: true, storage: false },
    { name: "v1beta1", served: true, storage: true },
  ],
  kind: "ReferenceGrant",
  plural: "referencegrants",
  shortNames: ["refgrant"],
  scope: "Namespaced",
  printerColumns: [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }],
  spec: referenceGrantSpec,
  status: undefined,
});
