/** What every render function is handed: the mesh, the class of the proxy, and the memo of parts. Nothing else can be read. */
import { type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { Graph, Memo } from "../collections/index.ts";
import type { Mesh } from "../mesh/index.ts";
import type { ProxyClass } from "../model/index.ts";

/** An encoded piece of a resource, with the clusters that it sends traffic to. */
export interface Part {
  readonly bytes: Uint8Array;
  readonly needs: readonly string[];
}

export interface View {
  readonly mesh: Mesh;
  readonly proxy: ProxyClass;
  /**
   * A memoised part: a virtual host, a filter chain, a cluster. It is made again only when something it read has
   * changed. The id must be unique within the class and say all that `make` depends on beside view and mesh.
   */
  part(id: string, make: () => Part): Part;
  /** A memoised intermediate result (plain data) that several parts of this class share. */
  shared<T>(id: string, make: () => T): T;
  /** Says that something a user wrote could not be used here, and what is done instead. */
  tell(problem: RenderProblem): void;
}

/** A user's mistake that was met while rendering and contained. */
export interface RenderProblem {
  /** `AuthorizationPolicy/ns/name`. */
  readonly object: string;
  readonly field: string;
  readonly problem: string;
}

export interface ViewWithCauses extends View {
  readonly parts: Memo<Part>;
  dispose(): void;
}

/** Encodes a message as a part. */
export function encodePart<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
  needs: readonly string[] = [],
): Part {
  return { bytes: toBinary(schema, message), needs };
}

export function createView(
  graph: Graph,
  mesh: Mesh,
  proxy: ProxyClass,
  tell: (problem: RenderProblem) => void = () => {},
): ViewWithCauses {
  // A memo entry is made by the closure of whoever asked for it first; ids say all that closures depend on.
  const makers = new Map<string, () => unknown>();
  const call = (id: string): unknown => {
    const make = makers.get(id);
    if (!make) throw new Error(`render: nobody makes ${id}`);
    return make();
  };
  const parts = graph.memo<Part>("part", (id) => call(id) as Part, { equals: sameBytes });
  const shared = graph.memo<unknown>("shared", call);
  return {
    mesh,
    proxy,
    tell,
    parts,
    part(id, make) {
      makers.set(id, make);
      return parts.get(id);
    },
    shared<T>(id: string, make: () => T): T {
      makers.set(id, make);
      return shared.get(id) as T;
    },
    dispose() {
      parts.dispose();
      shared.dispose();
    },
  };
}

function sameBytes(a: Part, b: Part): boolean {
  return (
    a.bytes.length === b.bytes.length && Buffer.compare(a.bytes, b.bytes) === 0 && a.needs.join() === b.needs.join()
  );
}
