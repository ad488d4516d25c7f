/** How much of a long list is answered at once. */

/** A list, as far as it is shown at once. */
export interface Listed<T> {
  readonly rows: readonly T[];
  /** Of all that the filter lets through. */
  readonly total: number;
  readonly page: number;
  readonly pages: number;
}
