/** What is measured: a request at the bounds of what is taken, and who has to answer it. */
export interface Measured {
  readonly name: string;
  /** Whose turns count. */
  readonly of: "api" | "plane";
  /** Ends with what was answered, in a word. */
  run(): Promise<string>;
}

export const repeat = <T>(count: number, item: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => item(i));

export const numbered = (count: number, value: unknown): Readonly<Record<string, unknown>> =>
  Object.fromEntries(repeat(count, (i) => [`k${i}`, value]));
