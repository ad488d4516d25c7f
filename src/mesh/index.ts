export { classify, type Withheld } from "./classify.ts";
export { createMesh } from "./create-mesh.ts";
export type { CredentialRead } from "./credential.ts";
export type { MeshConfigs, MeshInputs } from "./inputs.ts";
export type {
  Account,
  EgressScope,
  MergedDestinationRule,
  Mesh,
  MtlsMode,
  Scope,
  VirtualServiceHead,
} from "./mesh.ts";
export { longestWildcard } from "./most-specific.ts";
