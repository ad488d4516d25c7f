export {
  type Cause,
  type Collection,
  createGraph,
  type Graph,
  type Index,
  type Memo,
  type MemoOptions,
  type Source,
  sameData,
} from "./graph.ts";
export { unionOf } from "./union.ts";
