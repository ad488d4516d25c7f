export { type ClassifyInputs, classify } from "./classify.ts";
export { createMesh } from "./create-mesh.ts";
export type { Credentials } from "./credential.ts";
export type { MeshConfigs, MeshInputs } from "./inputs.ts";
export type { EgressScope, MergedDestinationRule, Mesh, MtlsMode, PeerMtls, Scope } from "./mesh.ts";
export { routeSemantics } from "./virtual-service.ts";
