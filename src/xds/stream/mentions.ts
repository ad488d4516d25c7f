/** A proxy's complaint and the names of what it was sent in; the names that the complaint says out. */

const nameCharacter = /[A-Za-z0-9._|\-/]/;
const run = /[A-Za-z0-9._|\-/]+/g;
const head = /^[A-Za-z0-9._|\-/]+/;

/**
 * A response may have a hundred thousand names, so the text is cut into words once, and searched only for a name whose
 * first word is one of them.
 */
export function mentioned(message: string, names: Iterable<string>): Set<string> {
  const words = wordsOf(message);
  const found = new Set<string>();
  for (const name of names) {
    const first = head.exec(name)?.[0];
    if ((first === undefined || words.has(first)) && mentions(message, name)) found.add(name);
  }
  return found;
}

/** A full stop may be the end of a sentence or part of a name, so both readings are words. */
function wordsOf(message: string): ReadonlySet<string> {
  const words = new Set<string>();
  for (const [word] of message.matchAll(run)) {
    words.add(word);
    for (const { index } of word.matchAll(/\.(?![A-Za-z0-9])/g)) words.add(word.slice(0, index));
  }
  return words;
}

/** The name as a word of its own: `outbound|80||a.com` is not meant where `outbound|80||a.com.au` is said. */
function mentions(message: string, name: string): boolean {
  if (name === "") return false;
  for (let at = message.indexOf(name); at >= 0; at = message.indexOf(name, at + 1)) {
    const [before, after] = [message[at - 1] ?? "", message.slice(at + name.length, at + name.length + 2)];
    const sentenceEnd = /^\.?$|^\.[^A-Za-z0-9]/.test(after);
    if (!nameCharacter.test(before) && (sentenceEnd || !nameCharacter.test(after[0] ?? ""))) return true;
  }
  return false;
}
