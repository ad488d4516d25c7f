/** What a root filesystem is made of: plain data, in the order of its paths. */

export type Entry =
  | { readonly path: string; readonly type: "folder"; readonly mode: number; readonly owner: number }
  | { readonly path: string; readonly type: "link"; readonly target: string }
  | { readonly path: string; readonly type: "file"; readonly mode: number; readonly content: Content };

/** The bytes themselves, or a file of this machine. */
export type Content = { readonly bytes: Buffer } | { readonly from: string };

/** A part of the image that changes at its own pace, so that only what changed is fetched again. */
export interface Layer {
  readonly name: string;
  readonly entries: readonly Entry[];
}

export const folder = (path: string, mode = 0o755, owner = 0): Entry => ({ path, type: "folder", mode, owner });
export const link = (path: string, target: string): Entry => ({ path, type: "link", target });
export const text = (path: string, content: string, mode = 0o644): Entry => ({
  path,
  type: "file",
  mode,
  content: { bytes: Buffer.from(content) },
});
export const file = (path: string, from: string, mode = 0o644): Entry => ({
  path,
  type: "file",
  mode,
  content: { from },
});
export const program = (path: string, from: string): Entry => file(path, from, 0o755);

/** Sorted, each path once, and every folder before what is in it. */
export function complete(entries: readonly Entry[]): readonly Entry[] {
  const known = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries)
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const above = path.slice(0, at);
      if (!known.has(above)) known.set(above, folder(above));
    }
  return [...known.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}
