/** Bodies that say something twice, over real TLS: the answers are those of kube-apiserver 1.34. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApi, type TestApi } from "./testing.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
const services = "/apis/networking.istio.io/v1/namespaces/default/destinationrules";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
  await api.call("POST", configMaps, { metadata: { name: "old" }, data: { a: "0" } });
});
afterAll(() => api.close());

const json = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"NAME"},"data":{"a":"1","a":"2"}}';
const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: NAME\ndata:\n  a: '1'\n  a: '2'\n";
const rule = '{"metadata":{"name":"NAME"},"spec":{"host":"a","host":"b.default.svc.cluster.local","odd":1}}';

const types = {
  json: "application/json",
  yaml: "application/yaml",
  apply: "application/apply-patch+yaml",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  patch: "application/json-patch+json",
};

interface Case {
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly text: string;
  readonly warning: string;
  readonly strict: readonly [number, string];
}

const old = `${configMaps}/old`;
const twice = '{"data":{"a":"1","a":"2"}}';
const cases: readonly Case[] = [
  {
    what: "JSON that is created",
    ...{ method: "POST", path: configMaps, type: types.json, text: json },
    warning: 'duplicate field \\"data.a\\"',
    strict: [
      400,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data.a"',
    ],
  },
  {
    what: "YAML that is created",
    ...{ method: "POST", path: configMaps, type: types.yaml, text: yaml },
    warning: 'line 7: key \\"a\\" already set in map',
    strict: [
      400,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  line 7: key "a" already set in map',
    ],
  },
  {
    what: "JSON that replaces",
    ...{ method: "PUT", path: old, type: types.json, text: json.replace("NAME", "old") },
    warning: 'duplicate field \\"data.a\\"',
    strict: [400, "strict decoding error: duplicate field"],
  },
  {
    what: "a custom resource, with an unknown field",
    ...{ method: "POST", path: services, type: types.json, text: rule },
    warning: 'duplicate field \\"spec.host\\"',
    strict: [400, 'strict decoding error: duplicate field "spec.host", unknown field "spec.odd"'],
  },
  {
    what: "a merge patch",
    ...{ method: "PATCH", path: old, type: types.merge, text: twice },
    warning: 'duplicate field \\"data.a\\"',
    strict: [422, 'strict decoding error: duplicate field "data.a"'],
  },
  {
    what: "a strategic merge patch",
    ...{ method: "PATCH", path: old, type: types.strategic, text: twice },
    warning: 'duplicate field \\"data.a\\"',
    strict: [422, 'strict decoding error: duplicate field "data.a"'],
  },
  {
    what: "a JSON patch",
    ...{
      method: "PATCH",
      path: old,
      type: types.patch,
      text: '[{"op":"test","op":"add","path":"/data/b","value":"1"}]',
    },
    warning: 'json patch duplicate field \\"[0].op\\"',
    strict: [422, 'strict decoding error: json patch duplicate field "[0].op"'],
  },
  {
    what: "what is applied",
    ...{ method: "PATCH", path: `${configMaps}/NAME`, type: types.apply, text: yaml },
    warning: 'line 7: key \\"a\\" already set in map',
    strict: [
      400,
      'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key "a" already set in map',
    ],
  },
  {
    what: "what is applied as kubectl does, in JSON",
    ...{ method: "PATCH", path: `${configMaps}/NAME`, type: types.apply, text: json },
    warning: 'line 1: key \\"a\\" already set in map',
    strict: [
      400,
      'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 1: key "a"',
    ],
  },
  {
    what: "a review",
    ...{ method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", type: types.json },
    text: '{"spec":{"nonResourceAttributes":{"path":"/a","path":"/b","verb":"get"}}}',
    warning: 'duplicate field \\"spec.nonResourceAttributes.path\\"',
    strict: [400, 'strict decoding error: duplicate field "spec.nonResourceAttributes.path"'],
  },
];

describe.each(cases.map((entry, i) => ({ ...entry, i })))(
  "$what",
  ({ method, path, type, text, i, warning, strict }) => {
    const send = (validation: string) => {
      const name = `${validation.toLowerCase()}-${i}`;
      const query = `fieldValidation=${validation}&fieldManager=t`;
      return api.call(method, `${path.replace("NAME", name)}?${query}`, text.replace("NAME", name), type);
    };

    test("is taken with a warning", async () => {
      const answer = await send("Warn");
      expect([answer.code < 300, answer.warnings]).toEqual([true, expect.stringContaining(warning)]);
    });

    test("is refused where the client asks for that", async () => {
      const answer = await send("Strict");
      expect([answer.code, answer.body.message]).toEqual([strict[0], expect.stringContaining(strict[1])]);
    });

    test("is taken in silence where the client asks for that", async () => {
      const answer = await send("Ignore");
      expect([answer.code < 300, answer.warnings]).toEqual([true, ""]);
    });
  },
);

test("the last value counts", async () => {
  expect((await api.call("GET", `${configMaps}/warn-0`)).body.data).toEqual({ a: "2" });
  expect((await api.call("GET", `${configMaps}/warn-1`)).body.data).toEqual({ a: "2" });
});

test("another word for it is refused", async () => {
  const answer = await api.call("POST", `${configMaps}?fieldValidation=Maybe`, { metadata: { name: "maybe" } });
  expect([answer.code, answer.body.message]).toEqual([422, expect.stringContaining('Unsupported value: "Maybe"')]);
});

test("an unknown field of what is applied is refused in the words for an object", async () => {
  const path = `${services}/odd?fieldManager=t&fieldValidation=Strict`;
  const answer = await api.call("PATCH", path, rule.replace("NAME", "odd").replace('"host":"a",', ""), types.apply);
  expect([answer.code, answer.body.message]).toEqual([
    400,
    'DestinationRule in version "v1" cannot be handled as a DestinationRule: strict decoding error: unknown field "spec.odd"',
  ]);
});
