/** Numbers in; Kubernetes' quantities of processor and memory, as a metrics server writes them, out. */

/** Exact: whole billionths of a processor, whole kibibytes. */
export function usageOf(processors: number, memoryBytes: number): { readonly cpu: string; readonly memory: string } {
  return { cpu: `${Math.round(processors * 1e9)}n`, memory: `${Math.round(memoryBytes / 1024)}Ki` };
}

/** Of the two forms above. */
export function parseQuantity(text: string): number {
  const [, digits = "0", unit = ""] = /^(\d+)(n|Ki)$/.exec(text) ?? [];
  return Number(digits) * (unit === "n" ? 1e-9 : 1024);
}

/** As people read them: thousandths of a processor, mebibytes. */
export function formatQuantity(of: "cpu" | "memory", value: number): string {
  return of === "cpu" ? `${Math.ceil(value * 1000)}m` : `${Math.floor(value / 1024 / 1024)}Mi`;
}
