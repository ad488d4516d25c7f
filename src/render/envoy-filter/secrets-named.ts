/** Patches in; the names of secrets kept in Kubernetes that their values ask for out. */
import { isRecord } from "../../lib/index.ts";
import type { Patch } from "./patch.ts";

const kept = /^(kubernetes|kubernetes-gateway|configmap):\/\//;

export function secretsNamed(patches: readonly Patch[]): readonly string[] {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) walk(item);
    else if (isRecord(value)) {
      if (typeof value.name === "string" && kept.test(value.name)) found.add(value.name);
      for (const member of Object.values(value)) walk(member);
    }
  };
  for (const { value } of patches) walk(value);
  return [...found].sort();
}
