/** A rule's text in; how deep its brackets are inside each other out. The library's parser takes the cube of it for what is no rule. */

const raw = String.raw`(?<!\w)(?:[rR][bB]?|[bB][rR])(?:"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"[^"\r\n]*"?|'[^'\r\n]*'?)`;
const escaped = String.raw`"""(?:\\[^]|[^\\])*?(?:"""|$)|'''(?:\\[^]|[^\\])*?(?:'''|$)|"(?:\\.|[^"\\\r\n])*"?|'(?:\\.|[^'\\\r\n])*'?`;
/** Comments and texts have no brackets that count: they come first. */
const pieces = new RegExp(String.raw`\/\/[^\n]*|${raw}|${escaped}|[([{]|[)\]}]`, "g");

export function celDepth(expression: string): number {
  let [depth, most] = [0, 0];
  for (const [piece] of expression.matchAll(pieces)) {
    if (piece.length > 1) continue;
    if ("([{".includes(piece)) most = Math.max(most, ++depth);
    else if (")]}".includes(piece)) depth--;
  }
  return most;
}
