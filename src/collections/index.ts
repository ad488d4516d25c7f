export {
  type Cause,
  type Collection,
  createGraph,
  type Graph,
  type Memo,
  type Source,
  sameData,
} from "./graph.ts";
export { unionOf } from "./union.ts";
