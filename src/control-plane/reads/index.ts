export { createMeshReads } from "./reads.ts";
