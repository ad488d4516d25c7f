export { createMeshReads, type MeshReadsInputs } from "./reads.ts";
