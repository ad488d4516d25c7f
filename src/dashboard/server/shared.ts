/** Something that answers in; the same out, asked once by all who want to know the same of one moment. */
import { dropOldest } from "../../lib/index.ts";
import type { HttpAnswer } from "../../ops/index.ts";

const maxKept = 64;
/** A larger answer is shared only by those who ask while it is made. */
const maxKeptBytes = 256 * 1024;

type Answers<Who> = (url: URL, who: Who) => Promise<HttpAnswer>;

/** Many tabs look at the same few pages, and all ask again when something moves. Those with the same key are told the same. */
export function shared<Who extends { readonly key: string }>(moves: () => string, answer: Answers<Who>): Answers<Who> {
  const kept = new Map<string, { readonly moves: string; readonly answer: Promise<HttpAnswer> }>();
  return (url, who) => {
    const [key, now] = [`${url.pathname}${url.search} ${who.key}`, moves()];
    const known = kept.get(key);
    if (known?.moves === now) return known.answer;
    const asked = answer(url, who);
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

/** What goes on, or is made in pieces, is for one reader. */
const sizeOf = (body: HttpAnswer["body"]): number =>
  typeof body === "string" || body instanceof Uint8Array ? body.length : Number.POSITIVE_INFINITY;
