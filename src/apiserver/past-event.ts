/**
 * An event of the store in; the same for the past, where a large object is kept as its text alone, out. Thousands of parsed
 * objects would make each collection of garbage long; most readers are up to date and never read the text.
 */
import type { KubeObject } from "../model/index.ts";
import type { StoreEvent } from "./store.ts";

/** What is smaller is kept as it is. */
const smallLength = 2_048;

/** `beforeText` is what was there before as JSON, where somebody has it at hand. */
export function pastEvent(event: StoreEvent, beforeText: string | undefined): StoreEvent {
  const { type, resource, key, version, text } = event;
  const object = kept(event.object, text);
  const before = event.before && kept(event.before, beforeText ?? JSON.stringify(event.before));
  return new PastEvent({ type, resource, key, version, text }, object, before);
}

/** Thousands are kept: getters of a class are there once, those of a literal are a shape of their own for each object. */
class PastEvent implements StoreEvent {
  readonly type;
  readonly resource;
  readonly key;
  readonly version;
  readonly text;
  readonly #object: () => KubeObject;
  readonly #before: (() => KubeObject) | undefined;

  constructor(
    { type, resource, key, version, text }: Omit<StoreEvent, "object" | "before">,
    object: () => KubeObject,
    before: (() => KubeObject) | undefined,
  ) {
    this.type = type;
    this.resource = resource;
    this.key = key;
    this.version = version;
    this.text = text;
    this.#object = object;
    this.#before = before;
  }

  get object(): KubeObject {
    return this.#object();
  }

  get before(): KubeObject | undefined {
    return this.#before?.();
  }
}

function kept(object: KubeObject, text: string): () => KubeObject {
  return text.length < smallLength ? always(object) : readAgain(new WeakRef(object), text);
}

// Apart from each other: closures of one function share what any of them has, and the object would stay.
const always = (object: KubeObject) => (): KubeObject => object;

/** Nobody changes objects of the store, so that one read again is as good. */
function readAgain(first: WeakRef<KubeObject>, text: string): () => KubeObject {
  let ref = first;
  return () => {
    const known = ref.deref();
    if (known) return known;
    const read = JSON.parse(text) as KubeObject;
    ref = new WeakRef(read);
    return read;
  };
}
