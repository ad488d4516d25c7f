/** A text in; the line that each offset is on, counted from 1, out. */

/** Offsets come in rising order, nearly: the text is walked once. */
export function createLineCounter(text: string): (offset: number) => number {
  let [at, line] = [0, 1];
  return (offset) => {
    if (offset < at) [at, line] = [0, 1];
    for (; at < offset; at++) if (text.charCodeAt(at) === 10) line++;
    return line;
  };
}
