import { expect, test } from "vitest";
import { createInflow } from "./inflow.ts";

test("the largest of whoever has most gives way, until there is room", () => {
  const inflow = createInflow(100);
  const gone: string[] = [];
  const open = (client: string, name: string) => inflow.open(client, () => gone.push(name));
  const [small, large] = [open("greedy", "small"), open("greedy", "large")];
  const other = open("other", "other");
  small.hold(20);
  large.hold(30);
  other.hold(45);
  expect(gone).toEqual([]);
  other.hold(49);
  open("third", "third").hold(2);
  expect(gone).toEqual(["large"]);
  // What has given way counts no more, whatever it goes on to say.
  large.hold(1000);
  expect(gone).toEqual(["large"]);
  other.close();
  small.hold(98);
  expect(gone).toEqual(["large"]);
  small.hold(99);
  expect(gone).toEqual(["large", "small"]);
});

test("one that is too large by itself gives way itself", () => {
  const inflow = createInflow(100);
  const gone: string[] = [];
  inflow.open("a", () => gone.push("small")).hold(10);
  inflow.open("b", () => gone.push("large")).hold(1000);
  expect(gone).toEqual(["large"]);
});
