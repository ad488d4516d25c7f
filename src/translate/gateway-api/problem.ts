/** What keeps a part of a Gateway API object from working, in the words of its status conditions. */
export interface Problem {
  readonly reason: string;
  readonly message: string;
}

export const problem = (reason: string, message: string): Problem => ({ reason, message });

export function joinProblems(a: Problem | undefined, b: Problem | undefined): Problem | undefined {
  if (!a || !b) return a ?? b;
  return { reason: a.reason, message: `${a.message}; ${b.message}` };
}

/** Something made, something wrong with it, or both. */
export interface Outcome<T> {
  readonly value?: T;
  readonly problem?: Problem;
}
