/**
 * Versions and nonces of responses: RFC 3339 time, a slash, a counter; the nonce adds what cannot be guessed. A nonce tells the
 * responses on one stream apart, and nothing else.
 */

export interface Version {
  readonly version: string;
  readonly nonce: string;
}

export interface Versions {
  /** Another one each time. */
  next(): Version;
  /**
   * For streams that are sent the same within a millisecond the same one, but never that of this nonce, the last that the
   * stream got from here.
   */
  shared(last: string): Version;
  /** What no other has, on any server. */
  unique(): string;
}

export function createVersions(options: { now: () => Date; uuid: () => string }): Versions {
  let counter = 0;
  let [atMs, time] = [Number.NaN, ""];
  let [atSecond, upToSecond, secret] = [Number.NaN, "", ""];
  let current: Version = { version: "", nonce: "" };

  /** A change goes to hundreds of streams within some milliseconds: the time is made once in each, its seconds and the secret once a second. */
  function isLater(): boolean {
    const now = options.now();
    const nowMs = now.getTime();
    if (nowMs === atMs) return false;
    const second = Math.floor(nowMs / 1000);
    if (second !== atSecond) {
      [atSecond, secret] = [second, options.uuid()];
      upToSecond = now.toISOString().slice(0, -"000Z".length);
    }
    [atMs, time] = [nowMs, `${upToSecond}${String(nowMs - second * 1000).padStart(3, "0")}Z`];
    return true;
  }

  function made(): Version {
    // Joined, as V8 keeps what is put together otherwise in its parts, and streams keep these for as long as they live.
    const version = [time, ++counter].join("/");
    return { version, nonce: [version, secret].join("") };
  }

  return {
    unique: options.uuid,
    next() {
      isLater();
      return made();
    },
    shared(last) {
      if (isLater() || current.nonce === "" || current.nonce === last) current = made();
      return current;
    },
  };
}
