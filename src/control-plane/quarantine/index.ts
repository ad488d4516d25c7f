export { createGenerations, type Filter } from "./generations.ts";
export { createQuarantine, type Quarantine } from "./quarantine.ts";
