/** Who looks, as far as it decides what they are shown. */

export interface Viewer {
  /** Those with the same key see the same. */
  readonly key: string;
  /**
   * A kind, as ids of objects have it, and namespaces, empty for what is of none, in; in which of them objects of the kind
   * may be seen out. It says no of namespaces that were not asked about.
   */
  sees(kind: string, namespaces: Iterable<string>): Promise<(namespace: string) => boolean>;
}

/** Whoever holds the secret of a mesh sees all of it. */
export const seesAll: Viewer = { key: "", sees: async () => () => true };
