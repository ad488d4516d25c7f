/**
 * A resource that has each deployment's own bytes in some places. All the rest, and even the lengths around those places,
 * is the same for everybody whose bytes are as long: it is put together once, and filled in for each.
 */
import { digest, joinKept } from "../lib/index.ts";
import type { Resource } from "../model/index.ts";
import type { Part } from "./part.ts";

export interface Template {
  readonly name: string;
  readonly hash: string;
  readonly size: number;
  readonly needs: readonly string[];
  /** Undefined stands for the own bytes. */
  readonly pieces: readonly (Uint8Array | undefined)[];
}

/** The part is made with the given array, whatever it holds, where own bytes of the same length belong. */
export function templateOf(name: string, { pieces, size, needs }: Part, place: Uint8Array): Template {
  const cut: (Uint8Array | undefined)[] = [];
  let gathered: Uint8Array[] = [];
  const close = (): void => {
    if (gathered.length > 0) cut.push(joinKept(gathered));
    gathered = [];
  };
  for (const piece of pieces) {
    if (piece !== place) gathered.push(piece);
    else {
      close();
      cut.push(undefined);
    }
  }
  close();
  const hash = digest(cut.map((piece) => (piece ? digest(piece) : "")).join());
  return { name, hash, size, needs, pieces: cut };
}

export const sameTemplate = (a: Template, b: Template): boolean =>
  a.hash === b.hash && a.needs.length === b.needs.length && a.needs.every((need, i) => need === b.needs[i]);

export function fill(
  { name, hash, size, needs, pieces }: Template,
  own: { readonly bytes: Uint8Array; readonly hash: string },
): Resource {
  // One without a place for them is the same for everybody.
  if (pieces.every((piece) => piece !== undefined)) return { name, hash, needs, size, pieces };
  return { name, hash: digest(`${hash} ${own.hash}`), needs, size, pieces: pieces.map((piece) => piece ?? own.bytes) };
}
