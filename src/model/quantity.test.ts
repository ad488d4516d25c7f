import { expect, test } from "vitest";
import { canonicalQuantity } from "./index.ts";

// The right-hand side was printed by k8s.io/apimachinery's Quantity.
const known = {
  "2000m": "2",
  "100m": "100m",
  "0.1": "100m",
  "1": "1",
  "1000": "1k",
  "1500": "1500",
  "1024Mi": "1Gi",
  "1536Mi": "1536Mi",
  "1.5Gi": "1536Mi",
  "0.5Gi": "512Mi",
  "0.5Ki": "512",
  "128974848": "128974848",
  "129e6": "129e6",
  "1e3": "1e3",
  "1E": "1E",
  "0": "0",
  "-1k": "-1k",
  "1n": "1n",
  "0.1n": "1n",
  ".5": "500m",
  "1000Ki": "1000Ki",
  "1025": "1025",
};

test.each(Object.entries(known))("%s is printed %s", (text, canonical) => {
  expect(canonicalQuantity(text)).toBe(canonical);
});

test.each(["", "x", "1 Gi", "1gi", "Mi", "1e", "--1", "1Gib"])("%j is no quantity", (text) => {
  expect(canonicalQuantity(text)).toBeUndefined();
});
