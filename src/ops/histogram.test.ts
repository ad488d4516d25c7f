import { expect, test } from "vitest";
import { createHistogram } from "./histogram.ts";

test("observations fall into the buckets up to their value, by labels; unknown labels are dropped", () => {
  const cds = { type: "cds", node: "a" };
  const histogram = createHistogram({ name: "size", help: "Sizes.", labels: ["type"], buckets: [1, 10] });
  for (const value of [0.5, 1, 2, 11]) histogram.observe(cds, value);
  histogram.observe({ type: 'a"b\\\n' }, 3);
  histogram.observe({ ...cds, node: "b" }, 100);
  histogram.observe({}, 1);
  expect(histogram.text().split("\n")).toEqual([
    "# HELP size Sizes.",
    "# TYPE size histogram",
    'size_bucket{le="1",type="cds"} 2',
    'size_bucket{le="10",type="cds"} 3',
    'size_bucket{le="+Inf",type="cds"} 5',
    'size_sum{type="cds"} 114.5',
    'size_count{type="cds"} 5',
    'size_bucket{le="1",type="a\\"b\\\\\\n"} 0',
    'size_bucket{le="10",type="a\\"b\\\\\\n"} 1',
    'size_bucket{le="+Inf",type="a\\"b\\\\\\n"} 1',
    'size_sum{type="a\\"b\\\\\\n"} 3',
    'size_count{type="a\\"b\\\\\\n"} 1',
    'size_bucket{le="1"} 1',
    'size_bucket{le="10"} 1',
    'size_bucket{le="+Inf"} 1',
    "size_sum 1",
    "size_count 1",
    "",
  ]);
});
