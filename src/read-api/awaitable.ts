/** What is known at once, or has to be waited for. */
export type Awaitable<T> = T | Promise<T>;
