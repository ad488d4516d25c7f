import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { scenario } from "./scenario.ts";

const size = { services: 300, endpoints: 3, namespaces: 7, routed: 20 };

/** Of what scale_scenario.py wrote for this size: figures of both are about the same mesh. */
const recorded = "be155acc74153deb3f9cde8b659b281bd077bee9995065fa054406750edcb205";

/** With keys in one order. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );

test("the scenario is that of scale_scenario.py", () => {
  expect(
    createHash("sha256")
      .update(canonical(scenario(size)))
      .digest("hex"),
  ).toBe(recorded);
});
