/** Two texts in; the lines of both, each with a blank, `+` or `-` before it, out: what stayed is shown near what did not. */

/** Beyond so many lines the middle is said to be replaced as a whole: the table of a comparison grows with the square. */
const maxCompared = 400;
const context = 3;

export function lineDiff(before: string, after: string): readonly string[] {
  const [a, b] = [lines(before), lines(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const middle = compared(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const head = a.slice(Math.max(0, start - context), start);
  const tail = a.slice(a.length - end, a.length - end + context);
  return [...head.map(same), ...middle, ...tail.map(same)];
}

const lines = (text: string): readonly string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));
const same = (line: string): string => ` ${line}`;

function compared(a: readonly string[], b: readonly string[]): readonly string[] {
  if (a.length > maxCompared || b.length > maxCompared)
    return [...a.map((line) => `-${line}`), ...b.map((line) => `+${line}`)];
  // How many lines the ends from here on have in common.
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number): number => common[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    const row = common[i];
    for (let j = b.length - 1; row && j >= 0; j--)
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const out: string[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push(same(a[i] ?? ""));
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) out.push(`-${a[i++]}`);
    else out.push(`+${b[j++]}`);
  }
  return out;
}
