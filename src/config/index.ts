export { type Decoded, decode, decodeMeshConfig, decodeMeshNetworks } from "./decode.ts";
export type { Problem } from "./problem.ts";
