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
  const found: Found = { object, errors: [], warnings: [] };
  return { report: new Place(found, undefined, [root], false), errors: found.errors, warnings: found.warnings };
}

interface Found {
  readonly object: string;
  readonly errors: Problem[];
  readonly warnings: Problem[];
}

/** A class, since a large object has a hundred thousand of them; the path is put together only where something is wrong. */
class Place implements Report {
  readonly #found: Found;
  readonly #outer: Place | undefined;
  readonly #names: readonly (string | number)[];
  readonly #silent: boolean;

  constructor(found: Found, outer: Place | undefined, names: readonly (string | number)[], silent: boolean) {
    this.#found = found;
    this.#outer = outer;
    this.#names = names;
    this.#silent = silent;
  }

  at(...names: readonly (string | number)[]): Report {
    return new Place(this.#found, this, names, this.#silent);
  }

  error(message: string | undefined): void {
    const { object, errors } = this.#found;
    if (message !== undefined && errors.length < maxProblems) errors.push({ object, path: this.#path(), message });
  }

  warn(message: string | undefined): void {
    const { object, warnings } = this.#found;
    if (message === undefined || this.#silent || warnings.length >= maxProblems) return;
    warnings.push({ object, path: this.#path(), message });
  }

  get quiet(): Report {
    return new Place(this.#found, this, [], true);
  }

  #path(): string {
    return this.#names.reduce<string>(step, this.#outer === undefined ? "" : this.#outer.#path());
  }
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
