export type { EgressScope, MergedDestinationRule, Mesh, MtlsMode, PeerMtls, Scope } from "./mesh.ts";
