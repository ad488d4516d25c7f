/**
 * Names that one proxy asks for beyond the sets of its class in; resources out. Its renderer follows these names for as long as
 * the proxy does: services come and go, and their names must not stay with the class.
 */
import type { Resource, ResourceType } from "../../model/index.ts";
import type { Renderer } from "../../render/index.ts";

export interface AskedNames {
  /** Of the renderer of the proxy's class, which may be another one each time. */
  get(renderer: Renderer, type: ResourceType, name: string): Resource | undefined;
  /** Without a name, all of the type. */
  forget(type: ResourceType, name?: string): void;
  close(): void;
}

export function createAskedNames(): AskedNames {
  const followed = new Map<ResourceType, Set<string>>();
  let by: Renderer | undefined;

  function close(): void {
    for (const [type, names] of followed) for (const name of names) by?.giveUp(type, name);
    followed.clear();
  }

  function note(type: ResourceType, name: string): void {
    const names = followed.get(type) ?? new Set();
    followed.set(type, names.add(name));
  }

  return {
    get(renderer, type, name) {
      if (renderer !== by) close();
      by = renderer;
      if (!followed.get(type)?.has(name) && renderer.follow(type, name)) note(type, name);
      return renderer.get(type, name);
    },
    forget(type, name) {
      const names = followed.get(type);
      if (!names) return;
      for (const one of name === undefined ? [...names] : [name]) if (names.delete(one)) by?.giveUp(type, one);
      if (names.size === 0) followed.delete(type);
    },
    close,
  };
}
