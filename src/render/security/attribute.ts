/** What an attribute of a connection or request is, and how values asked of it become Envoy's conditions. */

/** A matcher per value or one for all; undefined where a value says nothing that can be enforced. */
export type Matchers<M> = readonly (M | undefined)[];

export interface Attribute<M> {
  /** Known only where HTTP is spoken. */
  readonly httpOnly: boolean;
  match(values: readonly string[]): Matchers<M>;
  /** Whether the matchers are alternatives to each other; else there is one that says it all. */
  readonly alternatives: boolean;
}

/** Each value stands for itself. */
export function eachValue<M>(httpOnly: boolean, match: (value: string) => M | undefined): Attribute<M> {
  return { httpOnly, alternatives: true, match: (values) => values.map(match) };
}

/** One matcher takes all values. */
export function allValues<M>(httpOnly: boolean, match: (values: readonly string[]) => M | undefined): Attribute<M> {
  return { httpOnly, alternatives: false, match: (values) => [match(values)] };
}

export interface Condition<M> {
  readonly attribute: Attribute<M>;
  readonly values: readonly string[];
  readonly notValues: readonly string[];
}

/** Without values nothing is asked. */
export function condition<M>(
  attribute: Attribute<M>,
  values: readonly string[] = [],
  notValues: readonly string[] = [],
): readonly Condition<M>[] {
  return values.length === 0 && notValues.length === 0 ? [] : [{ attribute, values, notValues }];
}
