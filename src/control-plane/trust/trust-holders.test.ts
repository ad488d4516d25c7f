/** Ten thousand proxies are looked at in short turns, and as of one moment. */
import { expect, test } from "vitest";
import { createIssuances, createSelfSignedBundle, type SigningBundle } from "../../ca/index.ts";
import type { TypeFollower } from "../../xds/index.ts";
import { type TrustHolder, trustHolderSteps } from "./trust-holders.ts";

const locality = { region: "", zone: "", subZone: "" };
const facts = { cluster: "", metadata: {}, locality, extensions: new Set<string>(), userAgent: "" };
const told = { sentNonce: "a", ackedNonce: "a", sentAt: new Date(2000) };
const follower = (i: number): TypeFollower => ({
  node: { ...facts, id: `sidecar~10.0.0.1~p${i}.shop~shop.svc.cluster.local` },
  identity: undefined,
  pod: undefined,
  peer: "10.0.0.1:1234",
  type: told,
});
const followers = Array.from({ length: 10_000 }, (_, i) => follower(i));
const newBundle = (): Promise<SigningBundle> => createSelfSignedBundle({ organization: "o", now: new Date(0) });

function run(
  bundle: () => SigningBundle,
  changedAt: () => Date,
  between: (step: number) => void = () => {},
): { readonly steps: number; readonly holders: readonly TrustHolder[] } {
  const authority = { bundle };
  const work = trustHolderSteps({ authority, issuances: createIssuances(), proxies: () => followers, changedAt });
  for (let steps = 1; ; steps++) {
    const { done, value } = work.next();
    if (done) return { steps, holders: value };
    between(steps);
  }
}

test("a few hundred are a step", async () => {
  const bundle = await newBundle();
  const { steps, holders } = run(
    () => bundle,
    () => new Date(1000),
  );
  expect([holders.length, holders.every(({ believesAll }) => believesAll)]).toEqual([10_000, true]);
  expect(steps).toBeGreaterThan(20);
});

test("where roots change meanwhile nobody counts as told by what was before", async () => {
  const bundle = await newBundle();
  let changedAt = new Date(1000);
  const { holders } = run(
    () => bundle,
    () => changedAt,
    (step) => {
      if (step === 30) changedAt = new Date(3000);
    },
  );
  expect([holders.length, holders.some(({ believesAll }) => believesAll)]).toEqual([10_000, false]);
});

test("where the signer changes meanwhile all are looked at anew", async () => {
  const [before, after] = [await newBundle(), await newBundle()];
  let bundle = before;
  const at = new Date(1000);
  const undisturbed = run(
    () => bundle,
    () => at,
  ).steps;
  const { steps, holders } = run(
    () => bundle,
    () => at,
    (step) => {
      if (step === 30) bundle = after;
    },
  );
  expect([holders.length, steps > undisturbed]).toEqual([10_000, true]);
});
