/**
 * The events of a YAML text in, an error where its aliases stand for too much out. What counts is what they would become
 * when they are written out, which is what every reader of the document makes of them.
 */
import { EVENT_ID, type Event } from "js-yaml";
import { FairleadError } from "./error.ts";

/** Characters and nodes that aliases may add to one text; people write a few hundred. */
const maxAdded = 256 * 1024;

interface Node {
  readonly anchor: string | undefined;
  /** Characters and nodes in it, aliases written out. */
  weight: number;
  /** Levels below it, aliases written out. */
  depth: number;
}

export function checkAliases(text: string, events: readonly Event[], maxDepth: number): void {
  let known = new Map<string, Node>();
  let added = 0;
  const open: Node[] = [];
  const addToParent = ({ weight, depth }: Node): void => {
    const parent = open.at(-1);
    if (!parent) return;
    parent.weight += weight;
    parent.depth = Math.max(parent.depth, depth + 1);
    // The document is the outermost of what is open, and is no level.
    if (parent.depth + open.length - 2 > maxDepth) throw refused(`nested deeper than ${maxDepth} levels`);
  };
  const close = (node: Node): void => {
    if (node.anchor !== undefined) known.set(node.anchor, node);
    addToParent(node);
  };
  for (const event of events) {
    switch (event.type) {
      case EVENT_ID.DOCUMENT:
        known = new Map();
        open.push({ anchor: undefined, weight: 0, depth: 0 });
        break;
      case EVENT_ID.SEQUENCE:
      case EVENT_ID.MAPPING: {
        const anchor = nameOf(text, event);
        // Until it is closed the name means nothing: a node within itself has no end.
        if (anchor !== undefined) known.delete(anchor);
        open.push({ anchor, weight: 1, depth: 1 });
        break;
      }
      case EVENT_ID.SCALAR:
        close({ anchor: nameOf(text, event), weight: 1 + event.valueEnd - event.valueStart, depth: 0 });
        break;
      case EVENT_ID.ALIAS: {
        const target = known.get(nameOf(text, event) ?? "");
        if (!target) throw refused(`the alias *${nameOf(text, event)} names nothing before it, or what it is part of`);
        added += target.weight;
        if (added > maxAdded)
          throw refused(`its aliases stand for more than ${maxAdded} characters: write out what is meant`);
        addToParent(target);
        break;
      }
      default: {
        const node = open.pop();
        if (node) close(node);
      }
    }
  }
}

function nameOf(text: string, event: { readonly anchorStart: number; readonly anchorEnd: number }): string | undefined {
  return event.anchorStart < 0 ? undefined : text.slice(event.anchorStart, event.anchorEnd);
}

function refused(why: string): FairleadError {
  return new FairleadError("invalid", why);
}
