/** A user's regular expression in, whether Envoy would take it out. */
import { measurePattern, patternSize } from "../../lib/index.ts";

/** `re2.max_program_size.error_level` of the bootstrap. */
const maxProgramSize = 32_768;
/** Longer ones cannot be that small, and trying them costs. */
const maxLength = 65_536;

export function isUsablePattern(regex: string): boolean {
  if (regex === "" || regex.length > maxLength) return false;
  if (measurePattern(regex).least > maxProgramSize) return false;
  const size = patternSize(regex);
  return size !== undefined && size <= maxProgramSize;
}
