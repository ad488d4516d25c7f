import { expect, test } from "vitest";
import { shortDuration } from "./age.ts";
import { compareVersions } from "./discovery.ts";
import { evaluateJsonPath, parseJsonPath } from "./json-path.ts";
import { wantedForm } from "./represent.ts";

test.each([
  [0, "0s"],
  [119, "119s"],
  [120, "2m"],
  [125, "2m5s"],
  [600, "10m"],
  [3 * 3600 - 1, "179m"],
  [3 * 3600, "3h"],
  [5 * 3600 + 60, "5h1m"],
  [47 * 3600, "47h"],
  [50 * 3600, "2d2h"],
  [9 * 86400, "9d"],
  [800 * 86400, "2y70d"],
  [-5, "<invalid>"],
])("%d seconds are %s", (seconds, text) => {
  expect(shortDuration(seconds * 1000)).toBe(text);
});

const object = {
  spec: { hosts: ["a", "b"], "x.y": 1 },
  status: {
    conditions: [
      { type: "Ready", status: "True" },
      { type: "Other", status: "False" },
    ],
  },
};
test.each([
  [".spec.hosts", [["a", "b"]]],
  ["{.spec.hosts[1]}", ["b"]],
  [".spec.hosts[*]", ["a", "b"]],
  ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
  [".spec['x.y']", [1]],
  [".spec.none.deeper", []],
  [".__proto__.x", []],
  ["not a [path", []],
])("JSONPath %s", (path, expected) => {
  expect(evaluateJsonPath(parseJsonPath(path), object)).toEqual(expected);
});

test("versions are ranked as Kubernetes ranks them", () => {
  expect(["v1alpha3", "v1", "v1beta1", "v2", "v1beta2"].sort(compareVersions)).toEqual([
    "v2",
    "v1",
    "v1beta2",
    "v1beta1",
    "v1alpha3",
  ]);
});

test.each([
  [undefined, "plain"],
  ["application/json", "plain"],
  [
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
    "table",
  ],
  ["application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", "plain"],
  ["application/vnd.kubernetes.protobuf,application/json", "plain"],
  ["application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "metadata"],
])("%s is answered as %s", (accept, form) => {
  expect(wantedForm(accept)).toBe(form);
});
