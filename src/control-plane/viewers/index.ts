export { createViewers } from "./viewers.ts";
