/** Something that answers in; the same out, asked once by all who want to know the same of one moment. */
import { dropOldest } from "../../lib/index.ts";
import type { HttpAnswer } from "../../ops/index.ts";

const maxKept = 64;
/** A larger answer is shared only by those who ask while it is made. */
const maxKeptBytes = 256 * 1024;

/** Many tabs look at the same few pages, and all ask again when something moves. */
export function shared(
  moves: () => string,
  answer: (url: URL) => Promise<HttpAnswer>,
): (url: URL) => Promise<HttpAnswer> {
  const kept = new Map<string, { readonly moves: string; readonly answer: Promise<HttpAnswer> }>();
  return (url) => {
    const [key, now] = [url.pathname + url.search, moves()];
    const known = kept.get(key);
    if (known?.moves === now) return known.answer;
    const asked = answer(url);
    kept.delete(key);
    kept.set(key, { moves: now, answer: asked });
    dropOldest(kept, maxKept);
    const forget = (): void => {
      if (kept.get(key)?.answer === asked) kept.delete(key);
    };
    // What failed is tried again.
    asked.then(({ body }) => void (sizeOf(body) > maxKeptBytes && forget()), forget);
    return asked;
  };
}

const sizeOf = (body: HttpAnswer["body"]): number => (typeof body === "function" ? 0 : body.length);
