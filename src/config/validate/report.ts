/** Collects what is wrong with one object; a check gets a report already placed at the field it looks at. */
import type { Problem } from "../problem.ts";
import { fieldPath, itemPath } from "../problem.ts";

export interface Report {
  /** The same report at a field or entry below. */
  at(...path: readonly (string | number)[]): Report;
  /** No message, no problem: the outcome of a small check can be handed in as it is. */
  error(message: string | undefined): void;
  warn(message: string | undefined): void;
  /** Without warnings: in some places Istio keeps the errors of a part only. */
  readonly quiet: Report;
}

export interface Verdict {
  /** False where the object could not be decoded; the one error says why. */
  readonly readable: boolean;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
}

export interface ReportedVerdict {
  readonly report: Report;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** Of each sort: nobody reads more, and an object may have very many. */
const maxProblems = 200;

export function createReport(object: string, root: string): ReportedVerdict {
  const errors: Problem[] = [];
  const warnings: Problem[] = [];
  const make = (path: string, silent: boolean): Report => ({
    at: (...names) => make(names.reduce<string>(step, path), silent),
    error(message) {
      if (message !== undefined && errors.length < maxProblems) errors.push({ object, path, message });
    },
    warn(message) {
      if (message !== undefined && !silent && warnings.length < maxProblems) warnings.push({ object, path, message });
    },
    get quiet() {
      return make(path, true);
    },
  });
  return { report: make(root, false), errors, warnings };
}

const step = (path: string, name: string | number): string =>
  typeof name === "number" ? itemPath(path, name) : fieldPath(path, name);

/** The entries of a list with a report for each. */
export function each<T>(
  report: Report,
  field: string,
  items: readonly T[] | undefined,
  check: (item: T, at: Report, index: number) => void,
): void {
  items?.forEach((item, i) => {
    check(item, report.at(field, i), i);
  });
}

/** Go's `%q`. */
export const quote = (text: string): string => JSON.stringify(text);

/** Several errors inside one message, as Go's multierror prints them. */
export function listed(errors: readonly string[]): string {
  const head = errors.length === 1 ? "1 error occurred:" : `${errors.length} errors occurred:`;
  return `${head}\n\t* ${errors.join("\n\t* ")}\n\n`;
}
