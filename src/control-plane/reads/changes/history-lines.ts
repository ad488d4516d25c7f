/** Lines that were written of changes in; the changes, newest first, with what later lines say of them, out. */
import { isRecord, parseJson, readList, readNumber, readRecord, readText, readTexts } from "../../../lib/index.ts";
import type { KeptChange } from "./kept-change.ts";

const acts = ["added", "changed", "removed"] as const;
type Act = (typeof acts)[number];
type Fields = Readonly<Record<string, unknown>>;

export function readLines(text: string): readonly KeptChange[] {
  const found = new Map<number, KeptChange>();
  for (const line of text.split("\n")) {
    const fields = readLine(line);
    const id = readNumber(fields?.id);
    if (!fields || id === undefined) continue;
    const change = found.get(id) ?? readChange(id, fields);
    if (!change) continue;
    found.set(id, { ...change, ...readLater(fields) });
  }
  return [...found.values()].sort((a, b) => b.id - a.id);
}

/** A process that is killed may leave half of one. */
function readLine(line: string): Fields | undefined {
  if (line === "") return undefined;
  try {
    const value = parseJson(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function readChange(id: number, fields: Fields): KeptChange | undefined {
  const [object, at, act] = [readText(fields.object), readText(fields.at), actOf(fields.act)];
  if (object === "" || at === "" || !act) return undefined;
  const generation = readNumber(fields.generation);
  const { manager, operation } = readRecord(fields.author);
  return {
    ...{ id, object, at, act, namespace: readText(fields.namespace), diff: readTexts(fields.diff) },
    ...(generation === undefined ? {} : { generation }),
    ...(readText(manager) === "" ? {} : { author: { manager: readText(manager), operation: readText(operation) } }),
  };
}

function readLater({ proxies, touched, untold }: Fields): Pick<KeptChange, "proxies" | "touched" | "untold"> {
  return {
    ...(isRecord(proxies) ? { proxies: readProxies(proxies) } : {}),
    ...(Array.isArray(touched) ? { touched: touched.filter(isRecord).flatMap(readTouched) } : {}),
    ...(readNumber(untold) === undefined ? {} : { untold: readNumber(untold) ?? 0 }),
  };
}

function readProxies(fields: Fields): NonNullable<KeptChange["proxies"]> {
  const count = (name: string): number => readNumber(fields[name]) ?? 0;
  return {
    ...{ affected: count("affected"), acknowledged: count("acknowledged"), waiting: count("waiting") },
    refusing: readList(fields.refusing)
      .filter(isRecord)
      .map(({ proxy, part, words }) => ({ proxy: readText(proxy), part: readText(part), words: readText(words) })),
    isOvertaken: fields.isOvertaken === true,
  };
}

function readTouched({ type, name, act, proxies }: Fields): NonNullable<KeptChange["touched"]> {
  const known = actOf(act);
  return known ? [{ type: readText(type), name: readText(name), act: known, proxies: readNumber(proxies) ?? 0 }] : [];
}

const actOf = (value: unknown): Act | undefined => acts.find((act) => act === value);
