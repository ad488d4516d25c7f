import { describe, expect, test } from "vitest";
import { reviewAdmission, reviewAdmissionText } from "./index.ts";

const virtualService = (spec: unknown) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "a", namespace: "n" },
  spec,
});

const good = virtualService({ hosts: ["a.com"], http: [{ route: [{ destination: { host: "a" } }] }] });

const review = (request: Readonly<Record<string, unknown>>) => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  request: { uid: "u1", operation: "CREATE", namespace: "n", ...request },
});

describe("what /validate answers", () => {
  test("a good object is allowed, with the request's uid and version", () => {
    expect(reviewAdmission(review({ object: good }))).toEqual({
      review: { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: { uid: "u1", allowed: true } },
    });
  });

  test("a bad one is refused and the field is named", () => {
    const { review: answer, failure } = reviewAdmission(
      review({
        object: virtualService({ hosts: ["a.com"], http: [{ route: [{ destination: { host: "a" }, weight: -1 }] }] }),
      }),
    );
    expect(failure).toBe("invalid_resource");
    expect(answer.response).toMatchObject({ uid: "u1", allowed: false });
    expect(answer.response.status?.message).toBe(
      "configuration is invalid: weight -1 < 0 (spec.http[0].route[0].weight)",
    );
  });

  test("warnings go with an allowed object", () => {
    const http = [{ route: [{ destination: { host: "a" } }] }, { route: [{ destination: { host: "b" } }] }];
    const { review: answer } = reviewAdmission(review({ object: virtualService({ hosts: ["a.com"], http }) }));
    expect(answer.response.warnings).toEqual([
      "virtualService rule #1 not used (only the last rule can have no matches)",
    ]);
  });

  test("an error lists some of very many hosts", () => {
    const hosts = Array.from({ length: 300 }, (_, i) => `h${i}.example.com`);
    const tls = [{ match: [{ sniHosts: ["other.com"], port: 443 }], route: [{ destination: { host: "a" } }] }];
    const { review: answer } = reviewAdmission(review({ object: virtualService({ hosts, gateways: ["g"], tls }) }));
    expect(answer.response.status?.message).toContain("h99.example.com, …]");
  });

  test.each([
    ["unknown kinds", { object: { ...good, kind: "Nonsense" } }, "unknown_type"],
    ["no object on CREATE", { object: null, oldObject: good }, "yaml_decode_error"],
    ["an unknown field of the spec", { object: virtualService({ hsts: [] }) }, "crd_conversion_error"],
    ["an unknown top-level field", { object: { ...good, extra: 1 } }, "invalid_resource"],
  ])("%s are refused", (_, request, failure) => {
    const reviewed = reviewAdmission(review(request));
    expect(reviewed.failure).toBe(failure);
    expect(reviewed.review.response).toMatchObject({ uid: "u1", allowed: false });
  });

  test.each(["DELETE", "CONNECT"])("%s is allowed", (operation) => {
    expect(reviewAdmission(review({ operation, object: null })).review.response.allowed).toBe(true);
  });

  test.each([
    ["no request", { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview" }],
    ["another version", { ...review({ object: good }), apiVersion: "admission.k8s.io/v9" }],
    ["null", null],
  ])("%s gets a valid refusal", (_, body) => {
    expect(reviewAdmission(body).review).toMatchObject({ kind: "AdmissionReview", response: { allowed: false } });
  });

  test.each([
    ["no JSON", "{"],
    ["a byte order mark", `\uFEFF${JSON.stringify(review({ object: good }))}`],
    ["NaN", '{"a":NaN}'],
    ["deep nesting", "[".repeat(101)],
    [
      "a number past every double",
      JSON.stringify(review({ object: good })).replace('"host":"a"', '"host":"a","port":{"number":1e400}'),
    ],
    [
      "2^63",
      JSON.stringify(review({ object: good })).replace(
        '"host":"a"',
        '"host":"a","port":{"number":9223372036854775808}',
      ),
    ],
  ])("%s is refused", (_, body) => {
    expect(reviewAdmissionText(body).review.response.allowed).toBe(false);
  });

  test("a key that stands twice is refused in policies", () => {
    const policy = {
      apiVersion: "security.istio.io/v1",
      kind: "PeerAuthentication",
      metadata: { name: "p" },
      spec: {},
    };
    const body = JSON.stringify(review({ object: policy }));
    expect(reviewAdmissionText(body).review.response.allowed).toBe(true);
    const twice = body.replace('"spec":{}', '"spec":{},"spec":{"mtls":{"mode":"DISABLE"}}');
    expect(reviewAdmissionText(twice).review.response).toMatchObject({
      allowed: false,
      status: { message: 'duplicate field "spec"' },
    });
  });
});
