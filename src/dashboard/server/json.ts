/** Data in; the answer that carries it out. */
import type { HttpAnswer } from "../../ops/index.ts";

export const json = (status: number, body: unknown): HttpAnswer => ({
  status,
  type: "application/json",
  body: JSON.stringify(body),
});
