/** What the proofs of the demo are handed. */
import type { Demo } from "./demo.ts";
import type { StandaloneMesh } from "./standalone-mesh.ts";

export interface CheckContext {
  readonly mesh: StandaloneMesh;
  readonly demo: Demo;
  /** Applies one of the demo's files. */
  apply(file: string): Promise<void>;
  applyText(yaml: string): Promise<void>;
  remove(file: string): Promise<void>;
  removeText(yaml: string): Promise<void>;
  /** Applies what must be refused; the refusal's text. */
  refusal(yaml: string): Promise<string>;
  /** A workload whose port says nothing of its protocol. */
  startSniffed(): Promise<void>;
}
