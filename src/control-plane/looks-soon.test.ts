import { expect, test } from "vitest";
import { createLooksSoon } from "./looks-soon.ts";

test("many signals are one look, those of meanwhile one more, and a look that fails keeps none from coming", async () => {
  const waiting: PromiseWithResolvers<void>[] = [];
  const faults: unknown[] = [];
  const looks = createLooksSoon({
    waitMs: 1,
    look() {
      const one = Promise.withResolvers<void>();
      waiting.push(one);
      return one.promise;
    },
    onFault: (error) => faults.push(error),
  });
  for (let i = 0; i < 100; i++) looks.signal();
  await expect.poll(() => waiting.length).toBe(1);
  for (let i = 0; i < 100; i++) looks.signal();
  waiting[0]?.reject(new Error("no"));
  await expect.poll(() => waiting.length).toBe(2);
  expect(faults).toHaveLength(1);
  looks.stop();
  looks.signal();
  waiting[1]?.resolve();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(waiting).toHaveLength(2);
});
