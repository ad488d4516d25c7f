/** The independent X.509 library that tests compare with; it needs the metadata hooks that its decorators call, and finds none in Node. */
export async function loadIndependentX509(): Promise<typeof import("@peculiar/x509")> {
  const none = (): undefined => undefined;
  const hooks = { defineMetadata: none, getMetadata: none, getOwnMetadata: none, hasOwnMetadata: () => false };
  for (const [name, hook] of Object.entries(hooks))
    if (!(name in Reflect)) Object.defineProperty(Reflect, name, { value: hook });
  return import("@peculiar/x509");
}
