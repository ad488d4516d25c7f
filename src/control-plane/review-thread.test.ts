import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import type { FairleadError } from "../lib/index.ts";
import type { BodyReview } from "./review-body.ts";
import { createReviewThread, type ReviewThread } from "./review-thread.ts";

let thread: ReviewThread | undefined;
afterEach(() => thread?.close());

const body = (kind: string, spec: unknown): string =>
  JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid: "u-1",
      operation: "CREATE",
      object: { apiVersion: "networking.istio.io/v1", kind, metadata: { name: "a", namespace: "n" }, spec },
    },
  });
/** However busy the machine. */
const patient = { timeoutMs: 200_000 };
/** As much work as one object may make: each pattern is another one. */
const costly = body("VirtualService", {
  hosts: ["a"],
  http: [
    {
      match: Array.from({ length: 60 }, (_, i) => ({ uri: { regex: `${i}${"(a|b|c)*x".repeat(100)}` } })),
      route: [{ destination: { host: "h", subset: "s" } }],
    },
  ],
});

test("others have their turns while a costly object is reviewed", async () => {
  thread = createReviewThread(patient);
  let review: BodyReview | undefined;
  const done = thread.review(costly).then((made) => {
    review = made;
  });
  let turns = 0;
  for (; !review; turns++) await nextTurn();
  await done;
  expect(turns).toBeGreaterThan(100);
  expect(review.review.response).toMatchObject({ uid: "u-1", allowed: true });
  expect(review.referenced?.destinations).toEqual([{ host: "h", subset: "s" }]);
});

test("an EnvoyFilter is read with Envoy's types", async () => {
  thread = createReviewThread(patient);
  const patch = { applyTo: "CLUSTER", patch: { operation: "MERGE", value: { conect_timeout: "1s" } } };
  const { review } = await thread.review(body("EnvoyFilter", { configPatches: [patch] }));
  expect(JSON.stringify(review.response.warnings)).toContain("conect_timeout");
});

test("an object that takes too long is refused, and those after it are reviewed", async () => {
  thread = createReviewThread({ timeoutMs: 1 });
  const [first, second] = await Promise.allSettled([thread.review(costly), thread.review(costly)]);
  for (const { status, reason } of [first, second] as PromiseRejectedResult[])
    expect([status, (reason as FairleadError).code]).toEqual(["rejected", "too-large"]);
});

test("an object that takes too much memory ends the thread, not the process", async () => {
  thread = createReviewThread({ ...patient, maxHeapMb: 16 });
  await expect(
    thread.review(body("VirtualService", { hosts: Array.from({ length: 900_000 }, () => "a") })),
  ).rejects.toThrow("could not be checked");
});

test.for([{ maxWaitingChars: costly.length }, { maxWaiting: 1 }])(
  "no more wait than there is room for, and who waits at the end is told: %o",
  async (room) => {
    thread = createReviewThread({ ...patient, ...room });
    const [running, waiting, refused] = [thread.review(costly), thread.review(costly), thread.review(costly)];
    await expect(refused).rejects.toThrow("too many large objects");
    const ended = Promise.allSettled([running, waiting]);
    await thread.close();
    expect((await ended).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  },
);
