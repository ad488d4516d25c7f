/** Versions and nonces of responses: RFC 3339 time, a slash, a counter; the nonce adds what cannot be guessed. */

export interface Versions {
  next(): { readonly version: string; readonly nonce: string };
  /** What no other has, on any server. */
  unique(): string;
}

export function createVersions(options: { now: () => Date; uuid: () => string }): Versions {
  let counter = 0;
  /** A change goes to hundreds of streams within a millisecond: the counter tells their responses apart. */
  let [atMs, time, secret] = [Number.NaN, "", ""];
  return {
    unique: options.uuid,
    next() {
      counter++;
      const now = options.now();
      if (now.getTime() !== atMs) [atMs, time, secret] = [now.getTime(), now.toISOString(), options.uuid()];
      // Joined, as V8 keeps what is put together otherwise in its parts, and streams keep these for as long as they live.
      const version = [time, counter].join("/");
      return { version, nonce: [version, secret].join("") };
    },
  };
}
