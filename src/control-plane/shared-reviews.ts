/**
 * Reviews of tokens by the API in; the same with one answer for all who show a token at the same time or soon after out: an
 * agent comes with one token for its certificate, for its stream and for its reports, and again when it was told to come back.
 */
import { hash } from "node:crypto";
import type { TokenVerdict } from "../kube/index.ts";
import { dropOldest } from "../lib/index.ts";

export type ReviewToken = (token: string) => Promise<TokenVerdict>;

export interface SharedReviewsOptions {
  readonly review: ReviewToken;
  /** How long a yes serves; anything else serves only those who wait for it. */
  readonly sharedMs: number;
  readonly monotonicMs: () => number;
}

interface Answer {
  readonly verdict: Promise<TokenVerdict>;
  readonly endsMs: number;
}

/** Some ten seconds of all that a control plane can issue. */
const maxAnswers = 10_000;

export function createSharedReviews({ review, sharedMs, monotonicMs }: SharedReviewsOptions): ReviewToken {
  // By their hash: tokens are kept nowhere.
  const answers = new Map<string, Answer>();
  return (token) => {
    const key = hash("sha256", token, "base64");
    const known = answers.get(key);
    if (known && monotonicMs() < known.endsMs) return known.verdict;
    const verdict = review(token);
    const answer = { verdict, endsMs: monotonicMs() + sharedMs };
    answers.delete(key);
    answers.set(key, answer);
    dropOldest(answers, maxAnswers);
    const forget = (): void => {
      if (answers.get(key) === answer) answers.delete(key);
    };
    verdict.then(({ authenticated }) => authenticated || forget(), forget);
    return verdict;
  };
}
