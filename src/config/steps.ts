/** Work in steps in; its outcome out, all at once, for who has nothing else to do. */
export function finish<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}
