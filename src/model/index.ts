export { formatIdentity, type Identity, isIdentity, parseIdentity } from "./identity.ts";
export { compareAge, type Config, type KubeObject, type ObjectMeta, objectKey, objectName, type OwnerReference } from "./object.ts";
export { type Resource, type ResourceType, types } from "./resource.ts";
