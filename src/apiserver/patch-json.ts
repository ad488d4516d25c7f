/** RFC 6902: an object and a list of operations in, the patched object out. What it may cost is bounded by what it does, not by what it says. */
import { isRecord } from "../lib/index.ts";
import { setField } from "./access.ts";
import { failure } from "./failure.ts";
import { checkLimits, maxBodyBytes, objectLimits } from "./limits.ts";

const maxOperations = 10_000;
/** In items of a list that are moved along by an insertion or removal; reading a field costs as much as ten of them. */
const maxWork = 20_000_000;
const fieldWork = 10;

interface Operation {
  readonly op: string;
  readonly path: readonly string[];
  readonly from: readonly string[];
  readonly value: unknown;
}

type Container = unknown[] | Record<string, unknown>;

export function applyJsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw failure("BadRequest", "json patch: the body is not a list of operations");
  if (patch.length > maxOperations)
    throw failure(
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`,
    );
  const operations = patch.map(parseOperation);
  const document = createDocument(target);
  for (const operation of operations) document.apply(operation);
  return document.value;
}

function parseOperation(value: unknown): Operation {
  if (!isRecord(value) || typeof value.op !== "string" || typeof value.path !== "string")
    throw failure("BadRequest", "json patch: the body is not a list of operations");
  const needsFrom = value.op === "move" || value.op === "copy";
  if (needsFrom && typeof value.from !== "string") throw rejected(`${value.op} needs a "from"`);
  if ((value.op === "add" || value.op === "replace") && value.value === undefined)
    throw rejected(`${value.op} needs a "value"`);
  return { op: value.op, path: pointer(value.path), from: pointer(String(value.from ?? "")), value: value.value };
}

function pointer(text: string): readonly string[] {
  if (text === "") return [];
  if (!text.startsWith("/")) throw rejected(`the path ${JSON.stringify(text)} does not begin with "/"`);
  return text
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Containers are copied when they are first changed, and then changed in place: ten thousand steps copy each once. */
function createDocument(target: unknown): { readonly value: unknown; apply(operation: Operation): void } {
  const owned = new Set<object>();
  let root = target;
  let copied = 0;
  let work = 0;

  const charge = (amount: number): void => {
    work += amount;
    if (work > maxWork) throw failure("RequestEntityTooLarge", "the JSON patch takes too much work");
  };
  const own = (value: unknown): Container => {
    if (!Array.isArray(value) && !isRecord(value)) throw rejected("a path leads through a value that has no fields");
    if (owned.has(value)) return value as Container;
    const copy = Array.isArray(value) ? [...value] : { ...value };
    owned.add(copy);
    return copy;
  };
  /** The container of the path's last part, our own down to it. */
  const parentOf = (path: readonly string[]): Container => {
    root = own(root);
    let parent = root as Container;
    for (const part of path.slice(0, -1)) {
      const child = own(read(parent, part));
      set(parent, part, child);
      parent = child;
    }
    return parent;
  };
  const find = (path: readonly string[]): unknown => path.reduce<unknown>((value, part) => read(value, part), root);
  const equal = (a: unknown, b: unknown): boolean => {
    if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => equal(item, b[i]));
    if (!isRecord(a) || !isRecord(b)) return Object.is(a, b);
    const names = Object.keys(a);
    charge(names.length * fieldWork);
    return (
      names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && equal(a[name], b[name]))
    );
  };
  const add = (path: readonly string[], value: unknown): void => {
    const last = path.at(-1);
    if (last === undefined) {
      root = value;
      return;
    }
    const parent = parentOf(path);
    if (!Array.isArray(parent)) set(parent, last, value);
    else {
      const at = last === "-" ? parent.length : indexOf(parent, last, parent.length);
      charge(parent.length - at);
      parent.splice(at, 0, value);
    }
  };
  const remove = (path: readonly string[]): unknown => {
    const last = path.at(-1);
    if (last === undefined) throw rejected("the whole object cannot be removed");
    const parent = parentOf(path);
    const value = read(parent, last);
    if (Array.isArray(parent)) {
      const at = indexOf(parent, last, parent.length - 1);
      charge(parent.length - at);
      parent.splice(at, 1);
    } else delete parent[last];
    return value;
  };
  const copy = (path: readonly string[], from: readonly string[]): void => {
    const value = find(from);
    const size = sizeOf(value, maxBodyBytes - copied);
    copied += size;
    add(path, structuredClone(value));
  };
  const replace = (path: readonly string[], value: unknown): void => {
    const last = path.at(-1);
    if (last === undefined) {
      root = value;
      return;
    }
    const parent = parentOf(path);
    read(parent, last);
    set(parent, last, value);
  };
  const move = (path: readonly string[], from: readonly string[]): void => {
    if (path.length > from.length && from.every((part, i) => part === path[i]))
      throw rejected("a value cannot be moved into itself");
    add(path, remove(from));
  };
  return {
    get value() {
      return root;
    },
    apply({ op, path, from, value }) {
      switch (op) {
        case "add":
          return add(path, value);
        case "remove":
          return void remove(path);
        case "replace":
          return replace(path, value);
        case "move":
          return move(path, from);
        case "copy":
          return copy(path, from);
        case "test":
          if (!equal(find(path), value)) throw rejected(`testing value /${path.join("/")} failed`);
          return;
        default:
          throw rejected(`unexpected kind of operation: ${JSON.stringify(op)}`);
      }
    },
  };
}

function read(value: unknown, part: string): unknown {
  if (Array.isArray(value)) return value[indexOf(value, part, value.length - 1)];
  if (!isRecord(value) || !Object.hasOwn(value, part)) throw rejected(`there is no ${JSON.stringify(part)}`);
  return value[part];
}

function set(container: Container, part: string, value: unknown): void {
  if (Array.isArray(container)) container[indexOf(container, part, container.length - 1)] = value;
  else setField(container, part, value);
}

function indexOf(list: readonly unknown[], part: string, max: number): number {
  const index = /^(0|[1-9]\d{0,9})$/.test(part) ? Number(part) : -1;
  if (index < 0 || index > max) throw rejected(`there is no item ${JSON.stringify(part)} in a list of ${list.length}`);
  return index;
}

/** Characters of the value as JSON, nearly; throws where there are more than are left. */
function sizeOf(value: unknown, left: number): number {
  checkLimits(value, { ...objectLimits, maxBytes: left, maxValues: left / 3, maxFields: left / 3 });
  return JSON.stringify(value)?.length ?? 0;
}

function rejected(why: string): Error {
  return failure("Invalid", `the server rejected our request due to an error in our request: json patch: ${why}`);
}
