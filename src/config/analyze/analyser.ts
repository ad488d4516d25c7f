/** The shape of an analyser: which kinds it needs, and a function that looks at the objects and reports. */
import type { MeshConfigSpec, MeshNetworksSpec } from "../../model/index.ts";
import type { ValidateOptions } from "../validate/check.ts";
import type { AnalysedObject, AnalysedObjects } from "./objects.ts";

export interface Analysis {
  readonly objects: AnalysedObjects;
  /** With Istio's defaults filled in. */
  readonly mesh: MeshConfigSpec;
  readonly networks: MeshNetworksSpec;
  /** Only what somebody wrote. */
  readonly written: { readonly mesh: MeshConfigSpec; readonly networks: MeshNetworksSpec };
  readonly options: ValidateOptions;
  readonly now: Date;
  report(object: AnalysedObject<unknown>, code: string, message: string, path?: string): void;
}

export interface Analyser {
  /** Istio's name for it, which `--analyzer` takes. */
  readonly name: string;
  /** Without a cluster there are no runtime objects, and who needs them is not asked. */
  readonly needsCluster: boolean;
  /** Those that may take long do it in steps. */
  run(analysis: Analysis): void | Generator<undefined, void>;
}

export const notFound = (what: string, name: string): string => `Referenced ${what} not found: ${JSON.stringify(name)}`;
