/** Something awaited in; the same out, or an error that says what was waited for in vain. */

const patienceMs = 300_000;

export async function patiently<T>(work: Promise<T>, what: string, ms = patienceMs): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`waited in vain for ${what}`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
