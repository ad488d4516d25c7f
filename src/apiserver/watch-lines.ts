/** An event of a watch in, the line that is sent out. Hundreds of watches send the same lines: each is made once. */
import type { KubeObject } from "../model/index.ts";
import { type ApiKind, apiVersionOf } from "./kind.ts";
import { represent } from "./represent.ts";

export interface WatchLines {
  /** `text` is the object as JSON, where somebody has it at hand. */
  line(kind: ApiKind, type: string, object: KubeObject, text?: string): string;
}

const maxCharacters = 4 * 1024 * 1024;

export function createWatchLines(): WatchLines {
  /** By object; the objects of the store are never changed, only replaced. */
  const made = new Map<KubeObject, Map<string, string>>();
  let characters = 0;
  const forget = (): void => {
    for (const [object, lines] of made) {
      if (characters <= maxCharacters) return;
      made.delete(object);
      for (const line of lines.values()) characters -= line.length;
    }
  };
  return {
    line(kind, type, object, text) {
      const key = `${type} ${apiVersionOf(kind)}`;
      const known = made.get(object)?.get(key);
      if (known !== undefined) return known;
      const shown = represent(kind, object);
      const shownText = shown === object && text !== undefined ? text : JSON.stringify(shown);
      const line = `{"type":${JSON.stringify(type)},"object":${shownText}}\n`;
      const lines = made.get(object) ?? new Map<string, string>();
      made.set(object, lines.set(key, line));
      characters += line.length;
      forget();
      return line;
    },
  };
}
