/** What is wrong with an object: which object, which field, what, and what to do about it. */

export interface Problem {
  /** `VirtualService/ns/name`. */
  readonly object: string;
  /** `spec.http[0].route[1].weight`; empty where the whole object is meant. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

/** Field paths as Kubernetes writes them. */
export const fieldPath = (parent: string, name: string): string => (parent === "" ? name : `${parent}.${name}`);

export const itemPath = (parent: string, index: number | string): string => `${parent}[${index}]`;
