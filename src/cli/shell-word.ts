/** A text in; a word that a shell reads as that text out, for commands in hints. */
import { quote } from "../../scripts/preflight/finding.mjs";

export const shellWord = quote;
