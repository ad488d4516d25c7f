/** The steps from one CA to another, as data. */
import { describe, expect, test } from "vitest";
import { generateKey, issueCertificate } from "../pki/index.ts";
import {
  bundleTexts,
  firstPhase,
  nextPhase,
  type Rotation,
  rollBack,
  rootsId,
  servingSignerOf,
  signerOf,
} from "./rotation.ts";
import { formatRotation, isUnderWay, parseRotation } from "./rotation-data.ts";
import { createSelfSignedBundle, type SigningBundle } from "./signing-bundle.ts";

const now = new Date();
const root = (organization: string): Promise<SigningBundle> => createSelfSignedBundle({ organization, now });
const former = (bundle: SigningBundle) => ({ roots: bundle.roots, signer: bundle });
const names = ({ roots }: SigningBundle): string => roots.map(({ subject }) => subject.slice(2)).join();

async function between(bundle: SigningBundle): Promise<SigningBundle> {
  const { publicKey, privateKey: key } = await generateKey();
  const certificate = issueCertificate({
    ...{ profile: "ca", subject: { commonName: "between" }, publicKey, signer: bundle, now, ttlMs: 60_000 },
  });
  return { certificate, key, chain: [certificate], roots: bundle.roots };
}

function rotation(from: SigningBundle, to: SigningBundle, more: Partial<Rotation> = {}): Rotation {
  return {
    ...{ id: "1", phase: "trust", startedAt: now, since: now, epoch: 0, origin: "command", isRollback: false },
    ...{ ignored: [], from: former(from), to },
    ...more,
  };
}

describe("where a change begins", () => {
  test("R46: roots are compared as sets: another order is no change, an added one needs no steps, a lost one does", async () => {
    const [a, b] = [await root("a"), await root("b")];
    const both = { ...a, roots: [...a.roots, ...b.roots] };
    expect(rootsId(both.roots)).toBe(rootsId([...b.roots, ...a.roots]));
    expect(firstPhase(former(both), { ...a, roots: [...b.roots, ...a.roots] }, now)).toBeUndefined();
    expect(firstPhase(former(a), both, now)).toBeUndefined();
    expect(firstPhase(former(both), b, now)).toBe("reissue");
    expect(firstPhase(former(a), b, now)).toBe("trust");
  });

  test("a signer under the same root is taken at once", async () => {
    const a = await root("a");
    expect(firstPhase(former(a), await between(a), now)).toBeUndefined();
  });
});

test("D05: nobody shows a certificate of a root that is not believed yet, or no longer", async () => {
  const [a, b] = [await root("a"), await root("b")];
  const seen: string[] = [];
  for (let at = rotation(a, b), last = ""; last !== "done"; last = at.phase, at = nextPhase(at, now)) {
    const [signer, serving] = [signerOf(at), servingSignerOf(at)];
    seen.push(`${at.phase}: ${signer.certificate.subject} of ${names(signer)}, itself ${serving.certificate.subject}`);
  }
  expect(seen).toEqual([
    "trust: O=a of a,b, itself O=a",
    "reissue: O=b of b,a, itself O=a",
    "settle: O=b of b,a, itself O=b",
    "done: O=b of b, itself O=b",
  ]);
});

test("rolled back before the new signer was used, only its root has to go; after that, all come back", async () => {
  const [a, b] = [await root("a"), await root("b")];
  const early = rollBack(rotation(a, b), now);
  expect([early?.phase, early?.isRollback]).toEqual(["settle", true]);
  const late = rollBack(rotation(a, b, { phase: "reissue" }), now);
  expect([late?.phase, late?.epoch]).toEqual(["reissue", 1]);
  expect(late && signerOf(late).certificate.subject).toBe("O=a");
  const lost = rotation(a, b, { from: { roots: a.roots, signer: undefined } });
  expect(rollBack(lost, now)).toBeUndefined();
  // Without the old key the new one signs from the start, and both are believed.
  expect(names(signerOf(lost))).toBe("a,b");
  expect(signerOf(lost).certificate.subject).toBe("O=b");
});

test("agents come again for each order of the roots, and each time that they are asked to", async () => {
  const roots = [...(await root("a")).roots, ...(await root("b")).roots];
  const texts = [bundleTexts(roots, 0), bundleTexts(roots, 1), bundleTexts([...roots].reverse(), 0)];
  expect(new Set(texts.map((text) => text.join(""))).size).toBe(3);
});

test("it is kept whole while it is under way, without a key when it is done, and what is not ours is refused", async () => {
  const [a, b] = [await root("a"), await root("b")];
  const kept = rotation(a, b, { phase: "reissue", epoch: 2, ignored: ["x.y"] });
  const read = parseRotation(formatRotation(kept), now);
  if (!isUnderWay(read)) throw new Error("it is over");
  expect(formatRotation(read)).toEqual(formatRotation(kept));
  expect(JSON.stringify(formatRotation(nextPhase(nextPhase(kept, now), now)))).not.toContain("PRIVATE KEY");
  const expired = { ...formatRotation(kept), "from-ca-key.pem": "junk" };
  const lost = parseRotation(expired, now);
  expect(isUnderWay(lost) && lost.from.signer).toBeUndefined();
  for (const state of ["", "junk", "{}", '{"phase":"reissue"}', "[]"])
    expect(() => parseRotation({ ...formatRotation(kept), state }, now)).toThrow();
});
